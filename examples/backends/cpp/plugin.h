// What every plugin of tritonc does, whatever it compiles for: the handshake, the
// services that belong to the process, and an end that leaves nothing.
#pragma once

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iostream>
#include <thread>

#include "controller.grpc.pb.h"

struct Controller final : plugin::GRPCController::Service {
  grpc::Status Shutdown(grpc::ServerContext*, const plugin::Empty*, plugin::Empty*) override {
    std::call_once(once, [this] { ended.set_value(); });
    return grpc::Status::OK;
  }
  std::once_flag once;
  std::promise<void> ended;
};

inline std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] inline void End(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  _exit(0);
}

// RunPlugin serves the services until the host wants no more of them. Run by hand, the
// program says what it is, or with --describe the facts.
inline int RunPlugin(int argc, char** argv, const std::vector<grpc::Service*>& services, const std::string& facts) {
  // The handshake goes to the standard output that the host reads, and all else that
  // is printed to standard error.
  int handshake = fcntl(1, F_DUPFD_CLOEXEC, 3);
  dup2(2, 1);
  auto print = [&](const std::string& line) { return write(handshake, line.data(), line.size()) < 0; };
  if (Env("TRITONC_BACKEND") != "b1f0c1d4-tritonc-backend") {
    if (argc == 2 && std::string(argv[1]) == "--describe") return print(facts + "\n");
    return std::cerr << "a backend that tritonc starts; --describe shows what it can do" << std::endl, 1;
  }
  if (!Env("PLUGIN_CLIENT_CERT").empty())
    return std::cerr << "this backend cannot encrypt its connection" << std::endl, 1;
  std::string folder = Env("PLUGIN_UNIX_SOCKET_DIR"), lifeline = Env("TRITONC_LIFELINE");
  if (!lifeline.empty()) {
    int fd = std::stoi(lifeline);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    std::thread([=] {
      char byte;
      ssize_t n;  // 0, the end of the file, is the end of the host
      while ((n = read(fd, &byte, 1)) > 0 || (n < 0 && errno == EINTR)) continue;
      End(folder);
    }).detach();
  }
  grpc::EnableDefaultHealthCheckService(true);
  Controller controller;
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.RegisterService(&controller);
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort("unix:" + folder + "/socket", grpc::InsecureServerCredentials());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return std::cerr << "no server could be started" << std::endl, 1;
  server->GetHealthCheckService()->SetServingStatus("plugin", true);
  print("1|1|unix|" + folder + "/socket|grpc|\n");
  close(handshake);
  controller.ended.get_future().wait();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  End(folder);
}
