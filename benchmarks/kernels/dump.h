// SPDX-License-Identifier: Apache-2.0
// Reads what dump.py wrote: a system, the settings of its run, and a state from the middle of it.
#pragma once

#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "math/error.h"
#include "runtime/frame.h"
#include "schedule/setup.h"

namespace workshop {

using namespace quiltmd;

class DumpFile {
 public:
  explicit DumpFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error("cannot read '" + path + "': dump.py makes such files");
    std::string name, type;
    size_t count = 0;
    while (file >> name >> type >> count) {
      file.get();  // the end of the line
      std::string& bytes = arrays_[name];
      bytes.resize(count * (type == "f8" ? sizeof(double) : sizeof(int32_t)));
      if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
        throw Error("'" + path + "' ends inside array '" + name + "'");
    }
  }

  template <class T>
  std::vector<T> array(const std::string& name) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) throw Error("the dump has no array '" + name + "'");
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), values.size() * sizeof(T));
    return values;
  }
  double number(const std::string& name) const { return array<double>(name).at(0); }

 private:
  std::map<std::string, std::string> arrays_;
};

struct Dump {
  System system;  // in groups
  NonbondedSettings nonbonded;
  IntegratorSettings integrator;
  Box box{};
  HostState state;  // internal order
};

inline System read_system(const DumpFile& file) {
  using std::array;
  System s;
  s.masses = file.array<double>("masses");
  s.charges = file.array<double>("charges");
  s.pair_types = file.array<int32_t>("lj_types");
  s.pair_tables = {file.array<double>("lj_a"), file.array<double>("lj_b")};
  const auto pairs = static_cast<int>(s.pair_tables[0].size());
  while (s.pair_type_count * s.pair_type_count < pairs) ++s.pair_type_count;
  TermForms::for_each([&]<class Form>(int) {
    const TermForm& form = Form::kForm;
    if (!form.atom_array) return;
    if (const auto atoms = file.array<int32_t>(form.atom_array); !atoms.empty())
      s.terms.push_back({&form, atoms, file.array<double>(form.parameter_array), {}, 0});
  });
  s.exclusions = file.array<array<int32_t, 2>>("exclusions");
  s.constraints = file.array<array<int32_t, 2>>("constraints");
  s.constraint_lengths = file.array<double>("constraint_lengths");
  return with_groups(s);
}

inline Dump read_dump(const std::string& path) {
  const DumpFile file(path);
  Dump d;
  d.system = read_system(file);
  const auto grid = file.array<double>("pme_grid"), rows = file.array<double>("box");
  d.nonbonded.cutoff = file.number("cutoff");
  if (const double charges = file.number("coulomb_cutoff"); charges < d.nonbonded.cutoff)
    d.nonbonded.shorter_coulomb_cutoff = charges;
  d.nonbonded.alpha = file.number("pme_alpha");
  d.nonbonded.bandwidth = file.number("pme_bandwidth");
  d.nonbonded.order = static_cast<int>(file.number("pme_order"));
  d.nonbonded.window_spacing = file.number("pme_window");
  for (int i = 0; i < 3; ++i)
    d.nonbonded.grid[i] = static_cast<int>(grid.at(static_cast<size_t>(i)));
  d.integrator.integrator.kind = "langevin_middle";
  for (const char* name : {"timestep", "temperature", "friction", "constraint_tolerance"})
    d.integrator.integrator.values[name] = file.number(name);
  for (const auto& [name, value] : {std::pair{"seed", 99},
                                    {"long_range_every", 1},
                                    {"remove_com_every", 0},
                                    {"resting_axes", 0}})
    d.integrator.integrator.values[name] = int64_t{value};
  d.box = {rows.at(0), rows.at(3), rows.at(4), rows.at(6), rows.at(7), rows.at(8)};
  const auto positions = file.array<Vec3d>("positions"),
             velocities = file.array<Vec3d>("velocities");
  for (const int32_t input : d.system.input_index) {
    d.state.positions.push_back(positions.at(static_cast<size_t>(input)));
    d.state.velocities.push_back(velocities.at(static_cast<size_t>(input)));
  }
  return d;
}

}  // namespace workshop
