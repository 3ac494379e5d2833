#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "cli/console.h"

namespace segue::cli {

/// A console whose output and errors go to memory, and whose input is a text.
class CapturedConsole {
 public:
  explicit CapturedConsole(const std::string& input = {})
      : in_(::memfd_create("in", MFD_CLOEXEC)),
        out_(::memfd_create("out", MFD_CLOEXEC)),
        error_(::memfd_create("error", MFD_CLOEXEC)),
        console({.in = in_, .out = out_, .error = error_, .stop = -1, .take_signal = {}}) {
    if (::write(in_, input.data(), input.size()) < 0) return;
    ::lseek(in_, 0, SEEK_SET);
  }
  ~CapturedConsole() {
    console.flush();
    ::close(in_);
    ::close(out_);
    ::close(error_);
  }
  CapturedConsole(const CapturedConsole&) = delete;
  CapturedConsole& operator=(const CapturedConsole&) = delete;

  std::string output() {
    console.flush();
    return all(out_);
  }
  std::string errors() { return all(error_); }

 private:
  static std::string all(int fd) {
    std::string text;
    char block[4096];
    ssize_t size = 0;
    while ((size = ::pread(fd, block, sizeof block, static_cast<off_t>(text.size()))) > 0) {
      text.append(block, static_cast<std::size_t>(size));
    }
    return text;
  }

  int in_;
  int out_;
  int error_;

 public:
  Console console;
};

}  // namespace segue::cli
