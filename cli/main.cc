#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"
#include "common/zmq_socket.h"

int main(int argc, char** argv) {
  // Before any thread: SIGINT and SIGTERM become readable, SIGPIPE an error of write().
  segue::ShutdownSignals signals;
  segue::cli::Console console(
      {.in = 0, .out = 1, .error = 2, .stop = signals.fd(), .take_signal = [&] {
         return signals.take();
       }});
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return segue::cli::run_command(arguments, console, segue::cli::command_table());
}
