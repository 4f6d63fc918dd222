// tritonc-backend-cppvm: a backend and the driver of its one device, in C++.
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include "machine.h"
#include "plugin.h"
#include "tritonc/backend/v1/backend.grpc.pb.h"
#include "tritonc/device/v1/device.grpc.pb.h"

namespace pb = tritonc::backend::v1;
namespace dev = tritonc::device::v1;
using grpc::ServerContext, grpc::Status;

constexpr size_t kPiece = 1 << 20, kMemory = 1 << 30;

template <typename Message>
Message Parse(const std::string& text) {  // in protobuf's text format
  Message message;
  return google::protobuf::TextFormat::ParseFromString(text, &message) ? message : throw text;
}
const auto kFacts = Parse<pb::Facts>(
    "name: 'cppvm' version: '1.0' hash: '" PROGRAM_HASH "' binary_ending: 'cppasm' capabilities: 'devices'"
    "targets { pattern: 'cppvm:v1' warp_size: 1 doc: 'a vector machine that is made up' }"
    "options { name: 'num_warps' type: 'int' default_json: '1' doc: 'has no effect here' }");
const auto kStages = Parse<pb::AddStagesResponse>(
    "stages { name: 'cppasm' ending: 'cppasm' doc: 'code of the vector machine, as text' }");
const auto kDevices = Parse<dev::DescribeResponse>(
    "name: 'cppvm' version: '1.0'"
    "devices { name: 'C++ VM' memory: 1073741824 target { backend: 'cppvm' arch: 'v1' warp_size: 1 } }");
const auto kProperties = Parse<dev::Properties>(
    "name: 'C++ VM' stage: 'cppasm' warp_size: 1 multiprocessors: 1 max_threads: 1 memory: 1073741824");

struct Backend final : pb::Backend::Service {  // other calls are answered UNIMPLEMENTED
  Status Describe(ServerContext*, const pb::DescribeRequest*, pb::DescribeResponse* answer) override {
    return *answer->mutable_facts() = kFacts, Status::OK;
  }
  Status AddStages(ServerContext*, const pb::AddStagesRequest*, pb::AddStagesResponse* answer) override {
    return *answer = kStages, Status::OK;
  }
  using Stream = grpc::ServerReaderWriter<pb::RunStagesEvent, pb::RunStagesRequest>;
  Status RunStages(ServerContext*, Stream* stream) override {
    std::string ttir, options;
    for (pb::RunStagesRequest part; stream->Read(&part); ttir += part.input())
      if (part.has_header()) options = part.header().options_json();
    pb::RunStagesEvent last;
    last.set_end(true);
    try {
      Kernel kernel = Assemble(ttir);
      for (size_t at = 0; at < kernel.text.size(); at += kPiece) {
        pb::RunStagesEvent event;
        event.add_artifacts()->set_stage("cppasm");
        event.mutable_artifacts(0)->set_data(kernel.text.substr(at, kPiece));
        stream->Write(event);
      }
      // Options are an object with at least num_warps.
      last.set_metadata("{\"name\":\"" + kernel.name + "\",\"num_ctas\":1,\"shared\":0," + options.substr(1));
    } catch (const Refused& refused) {
      pb::Diagnostic* diagnostic = last.add_diagnostics();
      diagnostic->set_message(refused.message);
      diagnostic->set_line(refused.line);
      diagnostic->set_column(refused.column);
      diagnostic->set_end_column(refused.end);
      diagnostic->set_help("it has loads, stores and arithmetic of i32 and f32, without branches");
    }
    return stream->Write(last), Status::OK;
  }
};

struct Session {  // has what was made in it, by number
  struct Buffer { uint64_t address; std::string data; };
  std::map<uint64_t, Buffer> buffers;
  std::map<uint64_t, Kernel> kernels;
  uint64_t last = 0, next = 1 << 16;

  // Part checks that bytes lie in a buffer and returns where they are.
  char* Part(uint64_t buffer, int64_t offset, int64_t size) {
    std::string& data = buffers.at(buffer).data;
    if (offset < 0 || size < 0 || uint64_t(offset) > data.size() || uint64_t(size) > data.size() - offset)
      throw std::out_of_range("the access is outside of a buffer of " + std::to_string(data.size()) + " bytes");
    return &data[offset];
  }
  char* At(uint64_t address) {
    for (auto& [number, b] : buffers)
      if (address >= b.address && address + 4 <= b.address + b.data.size()) return &b.data[address - b.address];
    throw Fault((std::ostringstream() << "there is no memory at 0x" << std::hex << address).str());
  }
};

// CALL begins a method of a service; what it throws goes into the answer's diagnostics.
#define CALL(Name) Status Name(ServerContext* context, const dev::Name##Request* request, dev::Name##Response* answer) override
class Devices final : public dev::Devices::Service {
  std::mutex mutex_;
  std::map<uint64_t, Session> sessions_;
  uint64_t last_ = 0;

  Session& At(uint64_t number) { return std::lock_guard(mutex_), sessions_.at(number); }
  template <typename Response, typename Call>
  static Status Answer(Response* answer, Call call) {
    try {
      call();
    } catch (const std::exception& error) {
      answer->add_diagnostics()->set_message(error.what());
    } catch (const Refused& refused) {
      answer->add_diagnostics()->set_message(refused.message);
    }
    return Status::OK;
  }
  CALL(Describe) { return *answer = kDevices, Status::OK; }
  CALL(Open) {
    return Answer(answer, [&] {
      if (request->number() != 0) throw std::out_of_range("there is only device 0");
      std::lock_guard lock(mutex_);
      sessions_[++last_];
      answer->set_session(last_);
      *answer->mutable_properties() = kProperties;
    });
  }
  CALL(Close) {
    return Answer(answer, [&] {
      std::lock_guard lock(mutex_);
      if (!sessions_.erase(request->session())) throw std::out_of_range("there is no such session");
    });
  }
  CALL(Alloc) {
    return Answer(answer, [&] {
      Session& session = At(request->session());
      if (request->size() < 0 || request->size() > int64_t(kMemory - session.next))
        throw std::length_error(request->name() + ": the device lacks " + std::to_string(request->size()) + " bytes");
      session.buffers[++session.last] = {session.next, std::string(request->size(), 0)};
      answer->set_buffer(session.last);
      answer->set_address(session.next);
      session.next += (request->size() / 4096 + 2) * 4096;  // no access reaches another buffer by mistake
    });
  }
  CALL(Free) {
    return Answer(answer, [&] {
      if (!At(request->session()).buffers.erase(request->buffer())) throw std::out_of_range("there is no such memory");
    });
  }
  Status Write(ServerContext*, grpc::ServerReader<dev::WriteRequest>* stream, dev::WriteResponse* answer) override {
    return Answer(answer, [&] {
      dev::WriteHeader header;
      std::string data;
      for (dev::WriteRequest part; stream->Read(&part); data += part.data())
        if (part.has_header()) header = part.header();
      if (int64_t(data.size()) != header.size()) throw std::length_error("not as many bytes came as were announced");
      data.copy(At(header.session()).Part(header.buffer(), header.offset(), header.size()), data.size());
    });
  }
  Status Read(ServerContext*, const dev::ReadRequest* request, grpc::ServerWriter<dev::ReadResponse>* stream) override {
    dev::ReadResponse answer;
    Answer(&answer, [&] {
      const char* data = At(request->session()).Part(request->buffer(), request->offset(), request->size());
      for (size_t at = 0, size = request->size(); at < size; stream->Write(answer), at += kPiece)
        answer.set_data(data + at, std::min(kPiece, size - at));
    });
    if (answer.diagnostics_size() > 0) stream->Write(answer);
    return Status::OK;
  }
  CALL(Load) {
    return Answer(answer, [&] {
      Session& session = At(request->session());
      session.kernels.emplace(session.last + 1, Assemble(request->code()));
      answer->set_kernel(++session.last);
    });
  }
  CALL(Launch) {
    auto start = std::chrono::steady_clock::now();
    Answer(answer, [&] {
      Session& session = At(request->session());
      const Kernel& kernel = session.kernels.at(request->kernel());
      if (request->grid_size() != 3) throw std::invalid_argument("a grid has three dimensions");
      Vector arguments;
      for (const dev::Argument& given : request->arguments()) {
        char kind = arguments.size() < kernel.parameters.size() ? kernel.parameters[arguments.size()] : '?';
        if (kind == '?' || (kind != 'p' && given.scalar().size() != 4)) throw std::invalid_argument("an argument does not fit");
        arguments.push_back(given.buffer() ? session.buffers.at(given.buffer()).address : 0);
        given.scalar().copy(reinterpret_cast<char*>(&arguments.back()), 4);
      }
      if (arguments.size() != kernel.parameters.size()) throw std::invalid_argument("arguments are missing");
      const int64_t x = request->grid(0), y = request->grid(1), z = request->grid(2);
      try {
        for (int64_t n = 0; n < x * y * z && !context->IsCancelled(); n++)
          kernel.Run({n % x, n / x % y, n / x / y}, arguments, [&](uint64_t address) { return session.At(address); });
      } catch (const Fault& fault) {
        answer->add_fault()->set_message(fault.what());
      }
    });
    answer->set_nanoseconds((std::chrono::steady_clock::now() - start).count());
    return Status::OK;
  }
};

int main(int argc, char** argv) {
  std::string facts;
  (void)google::protobuf::util::MessageToJsonString(kFacts, &facts);
  Backend backend;
  Devices devices;
  return RunPlugin(argc, argv, {&backend, &devices}, facts);
}
