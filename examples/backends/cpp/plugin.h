// What every plugin of tritonc does: the handshake, and an end that leaves nothing.
#pragma once
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <semaphore>
#include <thread>

#include "controller.grpc.pb.h"

inline std::string Env(const char* name) { return std::getenv(name) ? std::getenv(name) : ""; }
inline int Refuse(const char* why) { return std::cerr << why << std::endl, 1; }

struct Controller final : plugin::GRPCController::Service {
  std::counting_semaphore<> ended{0};
  grpc::Status Shutdown(grpc::ServerContext*, const plugin::Empty*, plugin::Empty*) override {
    return ended.release(), grpc::Status::OK;
  }
};

// RunPlugin serves the services until the host wants no more of them, or ends.
inline int RunPlugin(const std::vector<grpc::Service*>& services) {
  if (Env("TRITONC_BACKEND") != "b1f0c1d4-tritonc-backend")
    return Refuse("this is a backend of tritonc, which starts it: tritonc backend describe shows what it can do");
  if (!Env("PLUGIN_CLIENT_CERT").empty()) return Refuse("this backend has no TLS, which its host asks for (AutoMTLS)");
  // The handshake goes to the standard output that the host reads, all else to standard error.
  int handshake = fcntl(1, F_DUPFD_CLOEXEC, 3);
  dup2(2, 1);
  Controller controller;
  std::string folder = Env("PLUGIN_UNIX_SOCKET_DIR"), line = "1|1|unix|" + folder + "/socket|grpc|\n";
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.RegisterService(&controller).SetMaxReceiveMessageSize(-1);
  std::unique_ptr<grpc::Server> server =
      builder.AddListeningPort("unix:" + folder + "/socket", grpc::InsecureServerCredentials()).BuildAndStart();
  if (!server || write(handshake, line.data(), line.size()) < 0) return Refuse("no server could be started");
  if (std::string lifeline = Env("TRITONC_LIFELINE"); !lifeline.empty())
    std::thread([&, fd = std::stoi(lifeline), byte = char()]() mutable {
      if (read(fd, &byte, 1) == 0) controller.ended.release();  // the end of the file is the end of the host
    }).detach();
  controller.ended.acquire();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  _exit(0);
}
