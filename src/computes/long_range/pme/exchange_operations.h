// SPDX-License-Identifier: Apache-2.0
// Operations by which ranks exchange parts of the grids of PME: whole planes of charges and potential,
// parts of planes of the spectrum.
#pragma once

#include "computes/long_range/pme/operations.h"
#include "device/message.h"

namespace quiltmd {

// Some planes of a grid of 32-bit values (two for a complex value): a run of values in each plane, which
// begins at the same place in all planes.
struct GridPart {
  const int32_t* planes;  // their numbers
  int plane_count;
  int64_t plane_size;  // values
  int64_t begin;       // of the run in its plane
  int length;

  QMD_HD int words_of_run() const { return (length + 2) / 3; }
  QMD_HD int64_t words() const { return static_cast<int64_t>(plane_count) * words_of_run(); }
  // The run of the `index`th plane.
  QMD_HD int64_t start(int index) const { return planes[index] * plane_size + begin; }

  void memory(MemoryUses& uses, Access access) const { uses.note(access, "planes", planes); }
};

// ---- Through messages ----------------------------------------------------------------------

struct SendGrid {
  static constexpr const char* kName = "send_grid";
  GridPart part;
  const uint32_t* grid;
  Outlet out;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, part, grid);
    QMD_USES(kWrite, out);
  }
};

struct ReceiveGrid {
  static constexpr const char* kName = "receive_grid";
  GridPart part;
  uint32_t* grid;
  Inlet in;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, part, in);
    QMD_USES(kAdd, grid);  // parts that no other work touches then
  }
};

// grid += message, of integers.
struct AddGrid {
  static constexpr const char* kName = "add_grid";
  GridPart part;
  uint32_t* grid;
  Inlet in;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, part, in);
    QMD_USES(kAdd, grid);
  }
};

// Word `word` of the run of plane `index`: its three values, those beyond the run's end left out.
template <class Words>
QMD_HD void write_grid_word(const SendGrid& op, MessageWord* out, uint32_t number, int index,
                            int word) {
  const uint32_t* const from = op.grid + op.part.start(index);
  const int last = op.part.length - 1, i = 3 * word;
  Words::put(out + static_cast<int64_t>(index) * op.part.words_of_run() + word, number, from[i],
             from[i + 1 < last ? i + 1 : last], from[i + 2 < last ? i + 2 : last]);
}

// store(value's place in the grid, value) for the values of a word.
template <class Op, class Store>
QMD_HD void store_grid_word(const Op& op, const MessageWord& w, int index, int word, Store store) {
  uint32_t* const to = op.grid + op.part.start(index);
  for (int k = 0; k < 3; ++k)
    if (3 * word + k < op.part.length) store(to[3 * word + k], w.value[k]);
}

// ---- Into the memory of other ranks --------------------------------------------------------

// Where kernels reach the grids of other ranks, those that make a spectrum or a potential write what
// others use into theirs, and those that use one wait for marks. (Charges, which are sums, are messages
// all the same. A transform that adds them as it reads its own would spare a kernel, but what is large
// and starts once charges are there would then start a transform later: 3 to 7 % of a step more.)

// A grid of some rank.
struct SpectrumOf {
  Complex* spectrum;
};
struct PotentialOf {
  float* potential;
};

struct TransformPlanesDirectly {
  static constexpr const char* kName = "transform_planes.direct";
  TransformPlanes planes;
  const SpectrumOf* line_homes;  // by y: the spectrum of the rank that transforms the line
  MarksSent marks;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, planes.charges, line_homes);
    QMD_USES(kWrite, planes.spectrum, marks);
  }
};

struct ConvolveLinesDirectly {
  static constexpr const char* kName = "convolve_lines.direct";
  ConvolveLines lines;
  MarksAwaited awaited;
  const SpectrumOf* plane_homes;  // by x: the spectrum of the rank that transforms the plane
  MarksSent marks;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, lines.box, lines.moduli, awaited, plane_homes);
    QMD_USES(kReadWrite, lines.spectrum);
    QMD_USES(kAdd, lines.energy);
    QMD_USES(kWrite, marks);
  }
};

struct InversePlanesDirectly {
  static constexpr const char* kName = "inverse_planes.direct";
  InversePlanes planes;
  MarksAwaited awaited;
  // The potentials of ranks whose atoms reach plane x: copies[n] for first[x] <= n < first[x + 1].
  const int32_t* first;
  const PotentialOf* copies;
  MarksSent marks;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, awaited, first, copies);
    QMD_USES(kReadWrite, planes.spectrum);
    QMD_USES(kWrite, planes.potential, marks);
  }
};

struct GatherForcesDirectly {
  static constexpr const char* kName = "gather_forces.direct";
  GatherForces gather;
  MarksAwaited awaited;

  void memory(MemoryUses& uses) const {
    gather.memory(uses);
    QMD_USES(kRead, awaited);
  }
};

}  // namespace quiltmd
