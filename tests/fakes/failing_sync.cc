// Preloaded into a process by a test: once the file $SEGUE_TEST_SYNC_FAILS exists, syncing a file
// whose path holds the text in it fails with EIO, as on a disk that lost what it had taken. While
// $SEGUE_TEST_SYNC_WAITS exists, syncing such a file waits.

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is_meant(const char* variable, int descriptor) {
  const char* order = std::getenv(variable);
  const int file = order == nullptr ? -1 : open(order, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[256] = {};
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  char link[64];
  char path[4096] = {};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  return length > 0 && readlink(link, path, sizeof path - 1) > 0 &&
         std::strstr(path, text) != nullptr;
}

int sync_by(const char* name, int descriptor) {
  while (is_meant("SEGUE_TEST_SYNC_WAITS", descriptor)) usleep(1000);
  if (is_meant("SEGUE_TEST_SYNC_FAILS", descriptor)) {
    errno = EIO;
    return -1;
  }
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, name))(descriptor);
}

}  // namespace

extern "C" {
int fsync(int descriptor) {
  return sync_by("fsync", descriptor);
}
int fdatasync(int descriptor) {
  return sync_by("fdatasync", descriptor);
}
}
