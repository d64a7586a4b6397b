// SPDX-License-Identifier: Apache-2.0
// The place of a virtual site, and what the force on it does to its parents: written once, for the host
// and for GPUs. docs/theory/sites.md derives the equations.
//
// Sums over parents are taken from the first parent on, so that far from the origin nothing is lost, and
// the weights of the first parent follow from the others.
#pragma once

#include "integrators/sites.h"
#include "integrators/stage_physics.h"

namespace quiltmd {

// The sums over parents: O from the first parent on, X and Y.
struct SiteSums {
  Vec3d first, origin, x, y;
};

// `position`: of the atoms of the group.
QMD_HD SiteSums site_sums(const Site& site, const Vec3d* position) {
  SiteSums sums{position[site.parent[0]], {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  for (int p = 1; p < site.parents; ++p) {
    const Vec3d from_first = position[site.parent[p]] - sums.first;
    sums.origin += site.origin[p] * from_first;
    sums.x += site.x[p] * from_first;
    sums.y += site.y[p] * from_first;
  }
  return sums;
}

// The unit vectors. On the line along X neither Y nor the other two matter, and Y may be anything.
struct SiteAxes {
  Vec3d x, y, z;
  double per_x, per_across;  // 1/|X|, 1/|e_x x Y|
  bool in_space;             // not on the line
};

QMD_HD SiteAxes site_axes(const Site& site, const SiteSums& sums) {
  SiteAxes axes{};
  axes.per_x = 1 / norm(sums.x);
  axes.x = axes.per_x * sums.x;
  axes.in_space = site.local.y != 0 || site.local.z != 0;
  if (!axes.in_space) return axes;
  const Vec3d across = cross(axes.x, sums.y);
  axes.per_across = 1 / norm(across);
  axes.z = axes.per_across * across;
  axes.y = cross(axes.z, axes.x);
  return axes;
}

QMD_HD bool has_axes(const Site& site) {
  return site.local.x != 0 || site.local.y != 0 || site.local.z != 0;
}

QMD_HD Vec3d arm_of_site(const Site& site, const SiteAxes& axes) {
  return site.local.x * axes.x + site.local.y * axes.y + site.local.z * axes.z;
}

QMD_HD Vec3d place_of_site(const Site& site, const Vec3d* position) {
  const SiteSums sums = site_sums(site, position);
  Vec3d from_first = sums.origin;
  if (has_axes(site)) from_first += arm_of_site(site, site_axes(site, sums));
  if (site.cross != 0) from_first += site.cross * cross(sums.x, sums.y);
  return sums.first + from_first;
}

// The force on a site as it acts on its parents: force_on_parent() for each but the first, and on that
// what the others leave of it.
struct SitePull {
  Vec3d force, on_x, on_y;  // on_x, on_y: minus the derivatives of the energy by X and Y
};

QMD_HD SitePull site_pull(const Site& site, const SiteSums& sums, Vec3d force) {
  SitePull pull{force, {0, 0, 0}, {0, 0, 0}};
  if (has_axes(site)) {
    const SiteAxes axes = site_axes(site, sums);
    const Vec3d torque = cross(arm_of_site(site, axes), force);
    pull.on_x = axes.per_x * cross(torque, axes.x);
    if (axes.in_space) {
      const double about_x = axes.per_across * dot(torque, axes.x);
      pull.on_x -= (about_x * axes.per_x * dot(axes.x, sums.y)) * axes.z;
      pull.on_y = about_x * axes.z;
    }
  }
  if (site.cross != 0) {
    pull.on_x += site.cross * cross(sums.y, force);
    pull.on_y += site.cross * cross(force, sums.x);
  }
  return pull;
}

QMD_HD Vec3d force_on_parent(const Site& site, const SitePull& pull, int p) {
  return site.origin[p] * pull.force + site.x[p] * pull.on_x + site.y[p] * pull.on_y;
}

// ---- The operations on one group -----------------------------------------------------------

struct SiteSet {
  const Site *begin, *end;
};
QMD_HD SiteSet sites_of_group(const SiteTable& table, int group) {
  const int set = table.set_of_group[group];
  if (set < 0) return {nullptr, nullptr};
  return {table.sites + table.set_start[set], table.sites + table.set_start[set + 1]};
}

// Returns the square of how far the site is from where it was when the lists were built.
QMD_HD double place_site(const PlaceSites& op, const Site& site, int index) {
  const Slots& s = op.work.slots;
  const int first = op.work.placed[index].slot;
  const Vec3d place = place_of_site(site, s.position + first);
  return store_position(s, first + site.atom, op.work.origin[index], place);
}

// Each adds to the virial what spreading makes of it.
QMD_HD void spread_near(const Slots& s, const Site& site, const SiteSums& sums, int first,
                        Symmetric& virial) {
  const int own = first + site.atom;
  int64_t left[3] = {s.force[0][own], s.force[1][own], s.force[2][own]};
  const Vec3d force{from_fixed(left[0], kForceScale), from_fixed(left[1], kForceScale),
                    from_fixed(left[2], kForceScale)};
  const SitePull pull = site_pull(site, sums, force);
  virial.add_product(sums.first - s.position[own], force);
  for (int p = 1; p < site.parents; ++p) {
    const int slot = first + site.parent[p];
    const Vec3d part = force_on_parent(site, pull, p);
    virial.add_product(s.position[slot] - sums.first, part);
    for (int d = 0; d < 3; ++d) {
      const int64_t fixed = to_fixed(part[d], kForceScale);
      s.force[d][slot] += fixed;
      left[d] -= fixed;
    }
  }
  for (int d = 0; d < 3; ++d) {
    s.force[d][first + site.parent[0]] += left[d];
    s.force[d][own] = 0;
  }
}

QMD_HD void add_far(const Slots& s, int slot, Vec3d force) {
  Float4& to = s.long_range[slot];
  to.x = static_cast<float>(to.x + force.x);
  to.y = static_cast<float>(to.y + force.y);
  to.z = static_cast<float>(to.z + force.z);
}

QMD_HD void spread_far(const Slots& s, const Site& site, const SiteSums& sums, int first,
                       Symmetric& virial) {
  const int own = first + site.atom;
  Vec3d left{s.long_range[own].x, s.long_range[own].y, s.long_range[own].z};
  const SitePull pull = site_pull(site, sums, left);
  virial.add_product(sums.first - s.position[own], left);
  for (int p = 1; p < site.parents; ++p) {
    const int slot = first + site.parent[p];
    const Vec3d part = force_on_parent(site, pull, p);
    virial.add_product(s.position[slot] - sums.first, part);
    add_far(s, slot, part);
    left -= part;
  }
  add_far(s, first + site.parent[0], left);
  s.long_range[own] = {0, 0, 0, 0};
}

// Spreads the forces of the sites of a group; returns the change of the virial.
QMD_HD Symmetric spread_sites(const SpreadSiteForces& op, PlacedGroup placed) {
  const Slots& s = op.work.slots;
  Symmetric virial{};
  const SiteSet set = sites_of_group(op.sites, placed.group);
  for (const Site* site = set.begin; site != set.end; ++site) {
    const SiteSums sums = site_sums(*site, s.position + placed.slot);
    spread_near(s, *site, sums, placed.slot, virial);
    if (op.work.long_range_weight != 0) spread_far(s, *site, sums, placed.slot, virial);
  }
  return virial;
}

}  // namespace quiltmd
