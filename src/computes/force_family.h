// SPDX-License-Identifier: Apache-2.0
// What a family of forces (pairs, bonded terms, ...) is to the schedule: the owner of its memory, and
// the work that it adds to a rebuild and to the forces of a step. A family says what each piece of work
// needs; the schedule decides when it runs, on which stream, and which messages go before and after.
//
// A family whose sums over neighbours enter further forces (densities of an embedded atom, Born radii) works
// in phases. After each, ranks hand over what the next one needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decomposition/assignment.h"
#include "decomposition/energies.h"
#include "decomposition/faults.h"
#include "device/device.h"
#include "math/error.h"

namespace quiltmd {

class ListMemory;
class SlotMemory;
struct NonbondedSettings;
struct PackedPairs;
struct PairParameters;
struct Evaluation;
struct Lambdas;
struct ReferenceInput;
struct System;

// The atoms whose positions a piece of work reads. Work that also reads proxies adds forces to proxies, which
// are sent to their owners.
enum class Positions { kOwned, kWithProxies };
// Whether it makes or reads the pair lists of this rank.
enum class Lists { kNotUsed, kUsed };
// With what balancing moves it to another rank: with computes, in proportion to their list entries, or with patches, in
// proportion to their atoms. What stays is done by this rank whatever it owns.
enum class Balance { kMovesWithComputes, kMovesWithPatches, kStays };

// A part of a piece of work, of about so much of it: from one fraction of it to another.
struct Share {
  double from = 0, to = 1;
};

struct Work {
  const char* name;  // of its task
  Positions positions;
  Lists lists;
  std::function<void(Stream, int list_age)> launch;  // steps since the pair lists were built
  Balance balance = Balance::kMovesWithPatches;
  // Phase of a step: work of a phase comes after the work and the handovers of all earlier phases of the
  // family.
  int phase = 0;
  // Only a share of it, where the schedule may divide it.
  std::function<void(Stream, int list_age, Share)> launch_share = {};
  // Whether it goes on a stream where nothing waits for it but the end of the step: of a family whose work is
  // short, all of it.
  bool apart = false;
};

// Handover after the work of a family in a phase: arrays by slot. Integers are summed, so that no result
// depends on ranks.
struct Handover {
  // Values of owned atoms, sent to their proxies.
  std::vector<float*> values = {};
  // Sums over proxies, sent to the owners, who add them to theirs. Zero when a step begins: the schedule
  // clears the sums of proxies, and work of a later phase clears those of owned atoms.
  std::vector<int64_t*> sums = {};
  // A few numbers that each rank has calculated, wherever its atoms are: every rank gets the totals.
  struct Total {
    int64_t* sums;
    int count;
  };
  std::vector<Total> totals = {};

  size_t arrays() const { return values.size() + sums.size() + totals.size(); }
};

// Counts of the terms that a family has placed in a rebuild, by kind: all ranks together must have placed all
// terms.
struct PlacedTerms {
  const int32_t* counts = nullptr;
  int kinds = 0;
};

// Data that are rebuilt, on one rank.
class Rebuilt {
 public:
  virtual ~Rebuilt() = default;

  // Take over a plan: the tables that depend on what this rank computes.
  virtual void set_plan(const RankPlan& plan) = 0;
  // Once atoms are laid out, proxies included.
  virtual std::vector<Work> rebuild_work() { return {}; }
  // More room, and some to spare, for what of the last rebuild did not fit as the faults say, and the rebuild
  // of this once more. What needs room of its own is a kind of Room.
  virtual void make_room(const Faults&) {}
  virtual size_t bytes() const = 0;
};

class ForceFamily : public Rebuilt {
 public:
  // Forces into the accumulators of the slots, energies into theirs.
  virtual std::vector<Work> step_work(Energies energies) = 0;
  // The handover after each phase but the last, equal on all ranks.
  virtual std::vector<Handover> handovers() { return {}; }
  virtual PlacedTerms placed_terms() const { return {}; }
  // Centres of collective restraints that follow no path, by restraint, after a change of conditions.
  virtual void take_centres(const std::vector<double>& /*centres*/) {}
  // Constants of forces by expressions, after a change of conditions in the system.
  virtual void take_constants() {}
  // Sets the lambdas, if atoms or terms are alchemical. Between epochs.
  virtual void take_lambdas(const Lambdas&) {}
};

// Arguments for making families, on one rank.
struct FamilySetup {
  const SlotMemory& slots;  // and in it the system
  const NonbondedSettings& nonbonded;
  const PairParameters& pairs;
  const PackedPairs& packed_pairs;
  const ListMemory* pair_lists;  // null without a cutoff and in implicit solvent
  double timestep;               // ps
  int custom_energies;           // the first of those with names of their own
  const char* forces;            // of the family, as errors name them

  // Throws Error, naming the forces, where there are no pair lists.
  const ListMemory& lists() const {
    if (!pair_lists)
      throw Error(std::string(forces) +
                  " cannot be combined with implicit solvent or the method no-cutoff, which have "
                  "no pair lists: choose another method, or leave out one of them");
    return *pair_lists;
  }
};

// A family to a whole simulation. What it does not define, it does not support: an error names its forces.
struct Family {
  const char* forces;  // as errors name them, in the plural or with "the": "alchemical atoms"
  // Whether a system has such forces.
  std::function<bool(const System&, const NonbondedSettings&)> acts;
  std::function<std::unique_ptr<ForceFamily>(const FamilySetup&)> make;
  // Adds forces, energies and virial in double precision (computes/reference.h).
  std::function<void(const ReferenceInput&, Evaluation&)> add_reference = {};
  // Throws Error, naming it, for what the forces cannot be combined with.
  std::function<void(const System&, const NonbondedSettings&, bool periodic)> refuse_unsuited = {};
  bool full_shell = false;       // whether it needs all patches around that of a compute
  bool exact_positions = false;  // whether it reads the remainders of all positions (Slots::low)
  bool on_gpus = false;          // whether its folder has CUDA kernels, which the build sees
};

// Families of all folders beside this file that have a family.cpp: folder `x` defines x_family(). The build
// lists them (cmake/families.cmake).
std::vector<Family> force_families();

// The families that act in this system. Throws Error if one of them does not suit it.
std::vector<Family> families_of(const System& system, const NonbondedSettings& settings,
                                bool periodic, std::vector<Family> families = force_families());

}  // namespace quiltmd
