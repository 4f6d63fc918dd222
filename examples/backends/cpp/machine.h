// A vector machine that is made up. A register holds a vector, the first of them the
// parameters. Its code is ttir with few locations, of which Assemble makes instructions.
#pragma once
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <regex>
#include <sstream>

using Vector = std::vector<uint64_t>;  // the bits of each element, or addresses
using Binary = std::function<uint64_t(uint64_t, uint64_t)>;

template <typename To, typename From>
To As(From from) {  // the same bits, and zeros where there are more
  To to = 0;
  return memcpy(&to, &from, std::min(sizeof to, sizeof from)), to;
}
template <typename T, typename F>
Binary On(F f) {
  return [f](uint64_t a, uint64_t b) { return As<uint64_t>(f(As<T>(a), As<T>(b))); };
}

// kBinary has the operations on two vectors by name, predicate if any, and element type.
inline const std::map<std::string, Binary> kBinary = {
    {"arith.addi i32", On<uint32_t>(std::plus())}, {"arith.subi i32", On<uint32_t>(std::minus())},
    {"arith.muli i32", On<uint32_t>(std::multiplies())}, {"arith.andi i1", On<bool>(std::logical_and())},
    {"arith.cmpi slt i32", On<int32_t>(std::less())}, {"arith.addf f32", On<float>(std::plus())},
    {"arith.subf f32", On<float>(std::minus())}, {"arith.mulf f32", On<float>(std::multiplies())},
    {"arith.divf f32", On<float>(std::divides())},
    {"arith.maxnumf f32", On<float>([](float a, float b) { return std::fmax(a, b); })},
    {"tt.addptr i32", [](uint64_t a, uint64_t b) { return a + 4 * int64_t{As<int32_t>(b)}; }},
};

enum Kind { kConst, kProgram, kRange, kSplat, kLoad, kStore, kBoth };
inline const std::map<std::string, Kind> kKinds = {  // by name and element type
    {"arith.constant i32", kConst}, {"arith.constant f32", kConst}, {"tt.get_program_id i32", kProgram},
    {"tt.make_range i32", kRange}, {"tt.splat i32", kSplat}, {"tt.splat f32", kSplat}, {"tt.load i32", kLoad},
    {"tt.load f32", kLoad}, {"tt.store i32", kStore}, {"tt.store f32", kStore},
};

struct Instruction {
  Kind kind;
  const Binary* both;
  int result, length, immediate;
  std::vector<int> operands;
};

// Refused is an operation that the machine lacks. Line and columns count from 1.
struct Refused { std::string message; int line, column, end; };
struct Fault : std::runtime_error { using runtime_error::runtime_error; };

struct Kernel {
  std::string name, text, parameters;  // of each the first letter of its type, p for a pointer
  std::vector<Instruction> code;
  std::map<std::string, int> registers;

  int Register(const std::string& value) { return registers.emplace(value, registers.size()).first->second; }

  static std::vector<std::smatch> All(const std::string& text, const std::regex& pattern) {
    return {std::sregex_iterator(text.begin(), text.end(), pattern), {}};
  }

  void Function(const std::string& line) {
    static const std::regex parameter("(%\\w+): (?:!tt.)?(ptr<|[if]32\\b)?");
    name = line.substr(line.find('@') + 1, line.find('(') - line.find('@') - 1);
    for (auto& found : All(line, parameter)) {
      Register(found[1]);
      parameters += found[2].matched ? found[2].str()[0] : '?';
    }
  }

  // Operation adds an instruction, or returns false.
  bool Operation(const std::string& line) {
    static const std::regex value("%\\w+"), form(
        "(?:(%\\w+) = )?([a-z]+\\.\\w+) (?:(s\\w+), )?(.*) : (?:.*[>,] )?(?:tensor<(\\d+)x)?(?:!tt.ptr<)?(i1|i32|f32)>*");
    std::smatch m;
    if (!std::regex_match(line, m, form)) return false;
    std::string key = m[2].str() + (m[3].matched ? " " + m[3].str() : "") + " " + m[6].str(), rest = m[4];
    auto kind = kKinds.find(key);
    auto both = kBinary.find(key);
    if (kind == kKinds.end() && both == kBinary.end()) return false;
    Instruction i{kBoth, nullptr, -1, m[5].matched ? stoi(m[5]) : 1, 0, {}};
    if (kind != kKinds.end()) i.kind = kind->second; else i.both = &both->second;
    for (auto& found : All(rest, value)) i.operands.push_back(Register(found.str()));
    double number = 0;
    int end = 0;
    if (i.kind == kConst) {
      if (sscanf(rest.c_str(), rest[0] == 'd' ? "dense<%lf" : "%lf", &number) < 1 || rest.find("0x") != rest.npos) return false;
      i.immediate = m[6] == "f32" ? As<int>(float(number)) : int(number);
    }
    if (i.kind == kProgram) i.immediate = rest[0] - 'x';
    if (i.kind == kRange && sscanf(rest.c_str(), "{end = %d : i32, start = %d", &end, &i.immediate) < 2) return false;
    if (m[1].matched) i.result = Register(m[1]);
    return code.push_back(i), true;
  }

  // Run runs the program at a place of the grid. An argument is the bits of a number, or
  // an address; memory returns where its four bytes are, or throws a Fault.
  void Run(const int64_t (&place)[3], const Vector& arguments, const std::function<char*(uint64_t)>& memory) const {
    std::vector<Vector> values(registers.size());
    for (size_t i = 0; i < arguments.size(); i++) values.at(i) = {arguments[i]};
    const Vector none;
    for (auto& i : code) {
      auto operand = [&](size_t n) -> const Vector& { return n < i.operands.size() ? values.at(i.operands[n]) : none; };
      const Vector &a = operand(0), &b = operand(1), &c = operand(2), &mask = i.kind == kStore ? c : b;
      Vector result(a.empty() || i.kind == kSplat ? i.length : a.size());
      for (size_t n = 0; n < result.size(); n++) {
        if (i.kind == kConst || i.kind == kRange) result[n] = uint32_t(i.immediate + (i.kind == kRange ? n : 0));
        else if (i.kind == kProgram) result[n] = place[i.immediate];
        else if (i.kind == kSplat) result[n] = a.at(0);
        else if (i.kind == kBoth) result[n] = (*i.both)(a[n], b.at(n));
        else if (!mask.empty() && !mask.at(n)) result[n] = c.empty() ? 0 : c.at(n);
        else if (i.kind == kLoad) memcpy(&result[n], memory(a[n]), 4);
        else memcpy(memory(a[n]), &b.at(n), 4);
      }
      if (i.result >= 0) values.at(i.result) = std::move(result);
    }
  }
};

inline Kernel Assemble(const std::string& ttir) {
  static const std::regex form("( *)((?:%\\w+ = )?([a-z]+\\.\\w+).*?)(?: loc\\(.*)?");
  Kernel kernel;
  std::istringstream lines(ttir);
  std::smatch m;
  int number = 0;
  for (std::string text; number++, std::getline(lines, text);) {
    if (text.size() > 4096) throw Refused{"a line is too long for this machine", number, 4097, 0};
    if (!std::regex_match(text, m, form)) continue;  // module, a brace, or a location
    std::string line = m[3] == "tt.func" ? text.substr(m.length(1)) : m[2].str();
    if (m[3] == "tt.func") kernel.Function(line);
    else if (m[3] != "tt.return" && !kernel.Operation(line))
      throw Refused{"this machine has no " + line, number, int(m.length(1)) + 1, int(text.size()) + 1};
    kernel.text += line + "\n";
  }
  if (kernel.name.empty()) throw Refused{"the text has no kernel", 1, 1, 0};
  return kernel;
}
