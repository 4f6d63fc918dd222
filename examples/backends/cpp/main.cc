// tritonc-backend-cppvm: a backend and the driver of its one device, in C++.
#include <google/protobuf/text_format.h>

#include "machine.h"
#include "plugin.h"
#include "tritonc/backend/v1/backend.grpc.pb.h"
#include "tritonc/device/v1/device.grpc.pb.h"

namespace pb = tritonc::backend::v1;
namespace dev = tritonc::device::v1;
using grpc::Status;
using Context = grpc::ServerContext;

constexpr size_t kPiece = 1 << 20;  // of data in one message

Status Answer(const std::string& text, google::protobuf::Message* answer) {  // in protobuf's text format
  return google::protobuf::TextFormat::ParseFromString(text, answer) ? Status::OK : Status(grpc::INVALID_ARGUMENT, text);
}

struct Backend final : pb::Backend::Service {  // other calls are answered UNIMPLEMENTED
  Status Describe(Context*, const pb::DescribeRequest*, pb::DescribeResponse* answer) override {
    return Answer("facts { name: 'cppvm' version: '1.0' hash: '" PROGRAM_HASH "' binary_ending: 'cppasm' capabilities: 'devices'"
                  "  targets { pattern: 'cppvm:v1' warp_size: 1 doc: 'a vector machine that is made up' }"
                  "  options { name: 'num_warps' type: 'int' default_json: '1' doc: 'has no effect here' } }", answer);
  }
  Status AddStages(Context*, const pb::AddStagesRequest*, pb::AddStagesResponse* answer) override {
    return Answer("stages { name: 'cppasm' ending: 'cppasm' doc: 'code of the vector machine, as text' }", answer);
  }
  Status RunStages(Context*, grpc::ServerReaderWriter<pb::RunStagesEvent, pb::RunStagesRequest>* stream) override {
    std::string ttir, options;
    for (pb::RunStagesRequest part; stream->Read(&part); ttir += part.input())
      if (part.has_header()) options = part.header().options_json();
    pb::RunStagesEvent last;
    last.set_end(true);
    cppvm::Kernel kernel;
    if (!Assemble(ttir, &kernel, last.add_diagnostics())) return stream->Write(last), Status::OK;
    last.clear_diagnostics();
    std::string code;
    google::protobuf::TextFormat::PrintToString(kernel, &code);
    for (size_t at = 0; at < code.size(); at += kPiece) {
      pb::RunStagesEvent event;
      event.add_artifacts()->set_stage("cppasm");
      event.mutable_artifacts(0)->set_data(code.substr(at, kPiece));
      stream->Write(event);
    }
    last.set_metadata("{\"name\":\"" + kernel.name() + "\"," + options.substr(1));  // with at least num_warps
    return stream->Write(last), Status::OK;
  }
};

// A mistake of the host is an exception, and so an error of gRPC; one of the user a diagnostic.
class Devices final : public dev::Devices::Service {
  struct Session { Memory memory; std::map<uint64_t, cppvm::Kernel> kernels; uint64_t last = 0; };
  std::mutex mutex_;
  std::map<uint64_t, Session> sessions_;
  uint64_t last_ = 0;
  Session& At(uint64_t number) { return std::lock_guard(mutex_), sessions_.at(number); }

  Status Describe(Context*, const dev::DescribeRequest*, dev::DescribeResponse* answer) override {
    return Answer("name: 'cppvm' version: '1.0' devices {"
                  "  name: 'C++ VM' memory: 1073741824 target { backend: 'cppvm' arch: 'v1' warp_size: 1 } }", answer);
  }
  Status Open(Context*, const dev::OpenRequest* request, dev::OpenResponse* answer) override {
    if (request->number() != 0) return Status(grpc::NOT_FOUND, "there is one device");
    std::lock_guard lock(mutex_);
    sessions_[++last_];
    Answer("properties { name: 'C++ VM' stage: 'cppasm' warp_size: 1 multiprocessors: 1 max_threads: 1 memory: 1073741824 }", answer);
    return answer->set_session(last_), Status::OK;
  }
  Status Close(Context*, const dev::CloseRequest* request, dev::CloseResponse*) override {
    std::lock_guard lock(mutex_);
    return sessions_.erase(request->session()) ? Status::OK : Status(grpc::NOT_FOUND, "there is no such session");
  }
  Status Alloc(Context*, const dev::AllocRequest* request, dev::AllocResponse* answer) override {
    Session& session = At(request->session());
    if (request->size() < 0 || request->size() > 1 << 30)
      return answer->add_diagnostics()->set_message(request->name() + ": the device lacks that many bytes"), Status::OK;
    session.memory[++session.last].resize(request->size());
    answer->set_buffer(session.last);
    return answer->set_address(session.last << 32), Status::OK;
  }
  Status Free(Context*, const dev::FreeRequest* request, dev::FreeResponse*) override {
    return At(request->session()).memory.erase(request->buffer()) ? Status::OK : Status(grpc::NOT_FOUND, "no such buffer");
  }
  Status Write(Context*, grpc::ServerReader<dev::WriteRequest>* stream, dev::WriteResponse*) override {
    dev::WriteHeader head;
    std::string data;
    for (dev::WriteRequest part; stream->Read(&part); data += part.data())
      if (part.has_header()) head = part.header();
    if (int64_t(data.size()) != head.size()) return Status(grpc::INVALID_ARGUMENT, "not the bytes that were announced");
    return data.copy(At(head.session()).memory.At(head.buffer(), head.offset(), head.size()), data.size()), Status::OK;
  }
  Status Read(Context*, const dev::ReadRequest* request, grpc::ServerWriter<dev::ReadResponse>* stream) override {
    const char* data = At(request->session()).memory.At(request->buffer(), request->offset(), request->size());
    dev::ReadResponse answer;
    for (size_t at = 0, size = request->size(); at < size; stream->Write(answer), at += kPiece)
      answer.set_data(data + at, std::min(kPiece, size - at));
    return Status::OK;
  }
  Status Load(Context*, const dev::LoadRequest* request, dev::LoadResponse* answer) override {
    Session& session = At(request->session());
    cppvm::Kernel& kernel = session.kernels[++session.last];
    if (!Answer(request->code(), &kernel).ok() || kernel.name().empty())
      answer->add_diagnostics()->set_message(request->name() + " is not code of cppvm:v1");
    return answer->set_kernel(session.last), Status::OK;
  }
  Status Launch(Context* context, const dev::LaunchRequest* request, dev::LaunchResponse* answer) override {
    Session& session = At(request->session());
    const cppvm::Kernel& kernel = session.kernels.at(request->kernel());
    if (request->grid_size() != 3 || request->arguments_size() != kernel.types_size())
      return Status(grpc::INVALID_ARGUMENT, "not three sizes, or not an argument for each parameter");
    Vector arguments;
    for (const dev::Argument& given : request->arguments()) {
      const std::string &type = kernel.types(arguments.size()), &number = given.scalar();
      if (given.buffer()) session.memory.At(given.buffer(), 0, 0);  // fails if it is not there
      if (type == "ptr") arguments.push_back(given.buffer() * 4294967296.0);
      else if (type == "f32" && number.size() == 4) arguments.push_back(Number<float>(number.data()));
      else if (type == "i32" && number.size() == 4) arguments.push_back(Number<int32_t>(number.data()));
      else return Status(grpc::INVALID_ARGUMENT, "an argument does not fit");
    }
    auto start = std::chrono::steady_clock::now();
    const int64_t x = request->grid(0), y = request->grid(1), z = request->grid(2);
    try {
      for (int64_t n = 0; n < x * y * z && !context->IsCancelled(); n++) Run(kernel, {n % x, n / x % y, n / x / y}, arguments, session.memory);
    } catch (const Fault& fault) {
      answer->add_fault()->set_message(fault.what());
    }
    return answer->set_nanoseconds((std::chrono::steady_clock::now() - start).count()), Status::OK;
  }
};

int main() { return RunPlugin({new Backend, new Devices}); }
