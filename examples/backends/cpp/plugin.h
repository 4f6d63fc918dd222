// What every plugin of tritonc does, whatever it compiles for: the handshake, the
// services that belong to the process, and an end that leaves nothing.
#pragma once
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <iostream>

#include "controller.grpc.pb.h"

inline std::string Env(const char* name) { return std::getenv(name) ? std::getenv(name) : ""; }

[[noreturn]] inline void End(int code = 0) {
  std::error_code ignored;
  std::filesystem::remove_all(Env("PLUGIN_UNIX_SOCKET_DIR"), ignored);
  _exit(code);
}
struct Controller final : plugin::GRPCController::Service {
  std::promise<void> ended;
  grpc::Status Shutdown(grpc::ServerContext*, const plugin::Empty*, plugin::Empty*) override {
    return ended.set_value(), grpc::Status::OK;
  }
};

// RunPlugin serves the services until the host wants no more of them. Run by hand, the
// program says what it is, or with --describe the facts.
inline int RunPlugin(int argc, char** argv, const std::vector<grpc::Service*>& services, const std::string& facts) {
  // The handshake goes to the standard output that the host reads, all else to standard error.
  int handshake = fcntl(1, F_DUPFD_CLOEXEC, 3);
  dup2(2, 1);
  auto print = [&](const std::string& line) { return write(handshake, line.data(), line.size()) < 0; };
  if (Env("TRITONC_BACKEND") != "b1f0c1d4-tritonc-backend") {
    if (argc == 2 && std::string(argv[1]) == "--describe") return print(facts + "\n");
    return std::cerr << "a backend that tritonc starts; --describe shows what it can do" << std::endl, 1;
  }
  if (!Env("PLUGIN_CLIENT_CERT").empty()) return std::cerr << "this backend cannot encrypt its connection" << std::endl, 1;
  if (!Env("TRITONC_LIFELINE").empty()) {
    int fd = std::stoi(Env("TRITONC_LIFELINE"));
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    std::thread([=] {  // the end of the file is the end of the host
      for (char byte; read(fd, &byte, 1) != 0;) continue;
      End();
    }).detach();
  }
  grpc::EnableDefaultHealthCheckService(true);
  Controller controller;
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::string address = "unix:" + Env("PLUGIN_UNIX_SOCKET_DIR") + "/socket";
  builder.RegisterService(&controller).SetMaxReceiveMessageSize(-1).AddListeningPort(address, grpc::InsecureServerCredentials());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return std::cerr << "no server could be started" << std::endl, 1;
  server->GetHealthCheckService()->SetServingStatus("plugin", true);
  print("1|1|unix|" + address.substr(5) + "|grpc|\n");
  close(handshake);
  controller.ended.get_future().wait();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  End();
}
