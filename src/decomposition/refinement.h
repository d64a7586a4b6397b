// SPDX-License-Identifier: Apache-2.0
// Assignments made better step by step: ranks trade places, so that messages pass fewer links, and
// computes move from busy ranks to others, preferably where their patches are at hand or near. Links
// are counted as in Agarwal, Sharma and Kale, "Topology-aware task mapping for reducing communication
// contention on large parallel machines" (IPDPS 2006): bytes times links, hop-bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "decomposition/assignment.h"

namespace quiltmd {

// Traffic from one rank to another in a step.
struct Traffic {
  int from, to;
  int64_t bytes;
};

double hop_bytes(const std::vector<Traffic>& traffic, const MachineShape& machine);
// Once for the message and once for each link that it passes.
double carried_bytes(const std::vector<Traffic>& traffic, const MachineShape& machine);

// Pairs of ranks trade all that they have, as long as that lowers the hop-bytes of `traffic`, which is
// that of `start`. No load changes, so ranks trade with those of their own speed. Ranks without patches stay as
// they are: where the others crowd together, hop-bytes are fewer and steps longer, as messages wait for the same
// links.
Assignment trade_places(const Assignment& start, const std::vector<Traffic>& traffic,
                        const MachineShape& machine);

// Seconds of a step, measured.
struct MeasuredCosts {
  std::vector<double> fixed;  // by rank: what moves neither with computes nor with patches
  std::vector<double> load;   // by rank: what moves with patches
  std::vector<double> cost;   // by compute, where it is made now
  std::vector<double> entry;  // by rank: of an entry of its pair lists
};
// By rank, seconds of what moves with patches, for each of its atoms; `atoms`: of patches. Where a rank has none, as
// others take by their entries.
std::vector<double> seconds_of_atoms(const Assignment& assignment, const MeasuredCosts& measured,
                                     const std::vector<double>& atoms);
// What they would be with another assignment: computes by the ranks' entries, what moves with patches by their atoms.
MeasuredCosts with_assignment(const Assignment& other, const Assignment& present,
                              const MeasuredCosts& measured, const std::vector<double>& atoms);
// By rank, with the assignment of which they are.
std::vector<double> seconds_of_ranks(const Assignment& assignment, const MeasuredCosts& costs);
// The seconds of all ranks, if work went from one to another until all took as long.
double even_seconds(const std::vector<double>& seconds, const std::vector<double>& entry);

// Cost of a proxy: its atoms, once for the message and once for each link that it passes.
struct Carriage {
  MachineShape machine;
  std::vector<double> atoms;  // of each patch
};

// From measured times, which are those of `start`: computes move from the busiest rank to ranks that have time, each
// time the one whose proxies cost least more there, until no rank is above `tolerance` times what it would be with
// all work shared out by speed. Then computes move wherever proxies cost less and the rank stays below. What was
// balanced stays as it is.
Assignment refine(const PatchGrid& grid, const Assignment& start, const MeasuredCosts& measured,
                  const Carriage& carriage, double tolerance);

}  // namespace quiltmd
