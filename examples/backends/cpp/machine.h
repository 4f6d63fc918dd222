// A vector machine that is made up. A register holds a vector, the first of them the
// parameters. Its code is ttir with few locations, of which Assemble makes instructions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

enum Op { kConst, kProgram, kRange, kSplat, kLoad, kStore, kAddPtr, kAddI, kSubI, kMulI, kAnd,
          kLess, kAddF, kSubF, kMulF, kDivF, kMaxF };

// kOps has the operations whose operands are registers alone, by name, predicate if
// any, and element type.
inline const std::map<std::string, Op> kOps = {
    {"tt.load f32", kLoad}, {"tt.load i32", kLoad}, {"tt.store f32", kStore}, {"tt.store i32", kStore},
    {"tt.addptr i32", kAddPtr}, {"arith.addi i32", kAddI}, {"arith.subi i32", kSubI}, {"arith.muli i32", kMulI},
    {"arith.andi i1", kAnd}, {"arith.cmpi slt i32", kLess}, {"arith.addf f32", kAddF},
    {"arith.subf f32", kSubF}, {"arith.mulf f32", kMulF}, {"arith.divf f32", kDivF}, {"arith.maxnumf f32", kMaxF},
};

struct Instruction {
  int op = 0, result = -1, length = 1, immediate = 0, operands[3] = {-1, -1, -1};
};

// Refused is an operation that the machine lacks. Line and columns count from 1.
struct Refused { std::string message; int line, column, end; };
struct Fault : std::runtime_error { using runtime_error::runtime_error; };

inline int Length(const std::string& type) {  // 0 is of a tensor that is not a vector
  int n = 0;
  char next = '0';
  if (type.find("tensor<") == type.npos) return 1;
  return sscanf(type.c_str(), "tensor<%dx%c", &n, &next) == 2 && !isdigit(next) ? n : 0;
}

inline std::string Element(std::string type) {  // f32 of f32, tensor<64xf32>, tensor<64x!tt.ptr<f32>>
  type.erase(type.find_last_not_of('>') + 1);
  return type.substr(type.find_last_of("x<") + 1);
}

using Vector = std::vector<uint64_t>;  // the bits of each element, or addresses

template <typename To, typename From>
To As(From from) {  // the same bits, and zeros where there are more
  To to = 0;
  memcpy(&to, &from, std::min(sizeof to, sizeof from));
  return to;
}

inline uint64_t Compute(int op, uint64_t a, uint64_t b) {
  switch (op) {
    case kAddPtr: return a + 4 * int64_t{As<int32_t>(b)};
    case kAddI: return uint32_t(a + b);
    case kSubI: return uint32_t(a - b);
    case kMulI: return uint32_t(a * b);
    case kAnd: return a & b;
    case kLess: return As<int32_t>(a) < As<int32_t>(b);
    case kAddF: return As<uint64_t>(As<float>(a) + As<float>(b));
    case kSubF: return As<uint64_t>(As<float>(a) - As<float>(b));
    case kMulF: return As<uint64_t>(As<float>(a) * As<float>(b));
    case kDivF: return As<uint64_t>(As<float>(a) / As<float>(b));
    default: return As<uint64_t>(std::fmax(As<float>(a), As<float>(b)));
  }
}

struct Kernel {
  std::string name, text;
  std::string parameters;  // of each the first letter of its type, p for a pointer
  std::vector<Instruction> code;
  std::map<std::string, int> registers;

  int Register(const std::string& value) { return registers.emplace(value, registers.size()).first->second; }

  void Function(const std::string& line) {
    name = line.substr(line.find('@') + 1, line.find('(') - line.find('@') - 1);
    for (size_t at = line.find('%'); at != line.npos; at = line.find('%', at + 1)) {
      size_t colon = line.find(": ", at);
      Register(line.substr(at, colon - at));
      std::string type = line.substr(colon + 2, line.find_first_of(" ,)", colon + 2) - colon - 2);
      parameters += type.find("ptr") != type.npos ? 'p' : type == "f32" || type == "i32" ? type[0] : '?';
    }
  }

  // Operation adds an instruction, or returns false.
  bool Operation(const std::string& line) {
    Instruction i;
    size_t equals = line[0] == '%' ? line.find(" = ") : line.npos, start = equals == line.npos ? 0 : equals + 3;
    std::string op = line.substr(start, line.find(' ', start) - start), rest = line.substr(start + op.size());
    rest.erase(0, 1);
    std::string type = rest.substr(rest.rfind(' ') + 1), first = rest.substr(0, rest.find(',')) + " ";
    int count = 0, end = 0;
    for (size_t at = rest.find('%'); at < rest.find(" : "); at = rest.find('%', at + 1)) {
      if (count == 3) return false;
      i.operands[count++] = Register(rest.substr(at, rest.find_first_of(" ,", at) - at));
    }
    double number;
    auto row = kOps.find(op + " " + (op == "arith.cmpi" ? first : "") + Element(type));
    if (op == "arith.constant" && rest.find("0x") == rest.npos && (Element(type) == "i32" || Element(type) == "f32")) {
      if (sscanf(rest.c_str(), "dense<%lf>", &number) + sscanf(rest.c_str(), "%lf", &number) < 1) return false;
      i.immediate = Element(type) == "f32" ? As<int>(float(number)) : int(number);
      i.op = kConst, i.length = Length(type);
    } else if (op == "tt.get_program_id" && rest[0] >= 'x' && rest[0] <= 'z') {
      i.op = kProgram, i.immediate = rest[0] - 'x';
    } else if (sscanf(rest.c_str(), "{end = %d : i32, start = %d : i32}", &end, &i.immediate) == 2) {
      i.op = kRange, i.length = end - i.immediate;
    } else if (op == "tt.splat") {
      i.op = kSplat, i.length = Length(type);
    } else if (row == kOps.end()) {
      return false;
    } else {
      i.op = row->second;
    }
    if (equals != line.npos) i.result = Register(line.substr(0, equals));
    code.push_back(i);
    return i.length > 0;
  }

  // Run runs the program at a place of the grid. An argument is the bits of a number, or
  // an address; memory returns where its four bytes are, or throws a Fault.
  void Run(const int64_t (&place)[3], const Vector& arguments, const std::function<char*(uint64_t)>& memory) const {
    std::vector<Vector> values(registers.size());
    for (size_t i = 0; i < arguments.size(); i++) values.at(i) = {arguments[i]};
    const Vector none;
    for (auto& i : code) {
      auto operand = [&](int n) -> const Vector& { return i.operands[n] < 0 ? none : values.at(i.operands[n]); };
      const Vector &a = operand(0), &b = operand(1), &c = operand(2);
      Vector result(a.empty() || i.op == kSplat ? i.length : a.size());
      for (size_t n = 0; n < result.size(); n++) {
        const Vector& mask = i.op == kStore ? c : b;  // of a load and a store
        if (i.op == kConst || i.op == kRange) result[n] = uint32_t(i.immediate + (i.op == kRange ? n : 0));
        else if (i.op == kProgram) result[n] = place[i.immediate];
        else if (i.op == kSplat) result[n] = a.at(0);
        else if (i.op > kStore) result[n] = Compute(i.op, a[n], b.at(n));
        else if (!mask.empty() && !mask.at(n)) result[n] = c.empty() ? 0 : c.at(n);
        else if (i.op == kLoad) memcpy(&result[n], memory(a[n]), 4);
        else memcpy(memory(a[n]), &b.at(n), 4);
      }
      if (i.result >= 0) values.at(i.result) = std::move(result);
    }
  }
};

inline Kernel Assemble(const std::string& ttir) {
  Kernel kernel;
  std::istringstream lines(ttir);
  int number = 0;
  for (std::string text; std::getline(lines, text);) {
    number++;
    size_t start = text.find_first_not_of(' ');
    if (start == text.npos) continue;
    std::string line = text.substr(start);
    std::string op = line.substr(line[0] == '%' ? std::min(line.find(" = ") + 3, line.size()) : 0);
    size_t dot = op.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
    if (line.rfind("tt.func", 0) == 0) {
      kernel.Function(line);
      kernel.text += line + "\n";
    } else if (dot != op.npos && dot > 0 && op[dot] == '.') {
      line.erase(std::min(line.find(" loc("), line.size()));
      if (line != "tt.return" && !kernel.Operation(line))
        throw Refused{"this machine has no " + line, number, int(start) + 1, int(text.size()) + 1};
      kernel.text += line + "\n";
    }  // all else is module, a brace, or a location
  }
  if (kernel.name.empty()) throw Refused{"the text has no kernel", 1, 1, 0};
  return kernel;
}
