#include <segue/client.h>

#include <cstdio>

using namespace segue::client;

// Asks the server for a text, backwards. Declares nothing.
int main(int argc, char** argv) {
  ConnectionOptions options;
  options.routers = {argc > 1 ? argv[1] : "tcp://127.0.0.1:5680"};
  auto connection = Connection::open(options);
  if (!connection) return std::fprintf(stderr, "%s\n", connection.error().to_string().c_str()), 1;

  auto requester = Requester::open(*connection);
  if (!requester) return std::fprintf(stderr, "%s\n", requester.error().to_string().c_str()), 1;

  const char* text = argc > 2 ? argv[2] : "hello";
  auto answer = requester->request(Message::to_queue("reverse", text), std::chrono::seconds(10));
  if (!answer) return std::fprintf(stderr, "%s\n", answer.error().to_string().c_str()), 1;
  std::printf("%.*s\n", static_cast<int>(answer->body().size()), answer->body().data());
}
