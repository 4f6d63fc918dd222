// A vector machine that is made up: memory, instructions, and an assembler, which takes ttir. All
// registers of a kernel have as many lanes; those of a scalar are equal.
#pragma once
#include <cmath>
#include <cstring>
#include <map>
#include <regex>
#include <sstream>

#include "machine.pb.h"
#include "tritonc/backend/v1/backend.pb.h"

using Vector = std::vector<double>;  // of i1, i32, f32 and addresses, none of which it rounds
struct Fault : std::runtime_error { using runtime_error::runtime_error; };

// Memory has buffers by number. A kernel sees one at its number times 2^32.
struct Memory : std::map<uint64_t, std::string> {
  char* At(uint64_t buffer, uint64_t offset, uint64_t size) {
    auto found = find(buffer);
    if (found == end() || offset > found->second.size() || size > found->second.size() - offset)
      throw Fault((std::ostringstream() << "there is no memory at 0x" << std::hex << (buffer << 32) + offset).str());
    return &found->second[offset];
  }
};

// Lane is what one lane of an instruction has to do with.
struct Lane {
  Memory& memory;
  const int64_t* place;  // of the program in the grid
  const cppvm::Instruction& instruction;
  std::vector<const Vector*> in;  // the operands
  size_t n;

  double operator[](size_t operand) const { return in.at(operand)->at(n); }
  bool Off(size_t mask) const { return in.size() > mask && !(*this)[mask]; }
  char* Word() const { return memory.At(uint64_t((*this)[0]) >> 32, uint32_t(uint64_t((*this)[0])), 4); }
};
template <typename T>
T Number(const char* bytes) {
  T number;
  return memcpy(&number, bytes, sizeof number), number;
}
inline double Load(const Lane& l) { return !l.Off(1) ? Number<float>(l.Word()) : l.in.size() > 2 ? l[2] : 0; }
inline double Store(const Lane& l) {
  const float number = l[1];
  return l.Off(2) ? 0 : (memcpy(l.Word(), &number, sizeof number), 0);
}
inline double Constant(const Lane& l) { return atof(&l.instruction.rest()[l.instruction.rest()[0] == 'd' ? strlen("dense<") : 0]); }
inline double Range(const Lane& l) { return atof(strstr(l.instruction.rest().c_str(), "start = ") + 8) + l.n; }
inline double Splat(const Lane& l) { return l[0]; }

inline const std::map<std::string, double (*)(const Lane&)> kInstructions = {
    {"arith.constant i32", Constant}, {"arith.constant f32", Constant},
    {"tt.get_program_id i32", [](const Lane& l) -> double { return l.place[l.instruction.rest()[0] - 'x']; }},
    {"tt.make_range i32", Range}, {"tt.splat i1", Splat}, {"tt.splat i32", Splat}, {"tt.splat f32", Splat}, {"tt.load f32", Load}, {"tt.store f32", Store},
    {"tt.addptr i32", [](const Lane& l) { return l[0] + 4 * l[1]; }},
    {"arith.addi i32", [](const Lane& l) -> double { return int32_t(int64_t(l[0]) + int64_t(l[1])); }},
    {"arith.muli i32", [](const Lane& l) -> double { return int32_t(int64_t(l[0]) * int64_t(l[1])); }},
    {"arith.andi i1", [](const Lane& l) -> double { return l[0] && l[1]; }},
    {"arith.cmpi slt i32", [](const Lane& l) -> double { return l[0] < l[1]; }},
    {"arith.addf f32", [](const Lane& l) -> double { return float(l[0] + l[1]); }},
    {"arith.subf f32", [](const Lane& l) -> double { return float(l[0] - l[1]); }},
    {"arith.mulf f32", [](const Lane& l) -> double { return float(l[0] * l[1]); }},
    {"arith.divf f32", [](const Lane& l) -> double { return float(l[0] / l[1]); }},
    {"arith.maxnumf f32", [](const Lane& l) { return std::fmax(l[0], l[1]); }},
};

// Run runs the program at a place of the grid.
inline void Run(const cppvm::Kernel& kernel, const int64_t (&place)[3], const Vector& arguments, Memory& memory) {
  std::map<std::string, Vector> registers;
  for (size_t i = 0; i < arguments.size(); i++) registers[kernel.registers(i)] = Vector(kernel.lanes(), arguments[i]);
  for (const cppvm::Instruction& instruction : kernel.code()) {
    Lane lane{memory, place, instruction, {}, 0};
    for (const std::string& operand : instruction.operands()) lane.in.push_back(&registers.at(operand));
    auto compute = kInstructions.at(instruction.op());
    Vector result(kernel.lanes());
    for (; lane.n < result.size(); lane.n++) result[lane.n] = compute(lane);
    registers[instruction.result()] = std::move(result);
  }
}

// Assemble reports whether ttir is a kernel for the machine, and what is wrong with it if it is not.
inline bool Assemble(const std::string& ttir, cppvm::Kernel* kernel, tritonc::backend::v1::Diagnostic* wrong) {
  static const std::regex ignored("#.*|module.*|[ }]*(tt.return)?( loc\\(.*)?"), function(" *tt.func public @(\\w+).*"), form(
      " *(?:(%\\w+) = )?([a-z]+\\.\\w+(?: s\\w+(?=,))?),? (.*) : (?:.*[>,] )?(?:tensor<(\\d+)x)?(?:!tt.ptr<)?(i1|i32|f32)>*(?: loc\\(.*)?");
  static const std::regex parameter("(%\\w+): (?:!tt.)?(\\w*)"), value("%\\w+");
  std::istringstream lines(ttir);
  std::string line;
  for (int number = 1; std::getline(lines, line); number++) {
    std::smatch m;
    bool known = line.size() < 4096;  // std::regex has a stack
    if (known && std::regex_match(line, ignored)) continue;
    if (known && std::regex_match(line, m, function)) {
      kernel->set_name(m[1]);
      for (std::sregex_iterator p(line.begin(), line.end(), parameter), end; p != end; ++p)
        kernel->add_registers((*p)[1]), kernel->add_types((*p)[2]);
    } else if ((known = known && std::regex_match(line, m, form))) {
      cppvm::Instruction* instruction = kernel->add_code();
      instruction->set_result(m[1]);
      instruction->set_op(m[2].str() + " " + m[5].str());
      instruction->set_rest(m[3]);
      for (std::sregex_iterator v(m[3].first, m[3].second, value), end; v != end; ++v) instruction->add_operands(v->str());
      if (m[4].matched && kernel->lanes() == 0) kernel->set_lanes(stol(m[4]));
      known = kInstructions.count(instruction->op()) && m[3].str().find("0x") == std::string::npos && (!m[4].matched || kernel->lanes() == stol(m[4]));
    }
    if (known) continue;
    size_t start = line.find_first_not_of(' ');
    wrong->set_message("this machine has no " + line.substr(start, std::min(line.find(" loc("), size_t{4096}) - start));
    wrong->set_help("it has loads and stores of f32, and arithmetic, without branches");
    wrong->set_line(number);
    wrong->set_column(start + 1);
    wrong->set_end_column(line.size() + 1);
    return false;
  }
  if (kernel->lanes() == 0) kernel->set_lanes(1);
  if (kernel->name().empty()) wrong->set_message("the text has no kernel");
  return !kernel->name().empty();
}
