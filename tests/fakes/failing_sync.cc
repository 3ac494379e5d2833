// Preloaded into a process by a test: once the file $SEGUE_TEST_SYNC_FAILS exists, syncing a file
// whose path holds the text in it fails with EIO, as on a disk that lost what it had taken. As long
// as somebody else has $SEGUE_TEST_SYNC_WAITS locked (flock), syncing such a file waits.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is_meant(const char* variable, int descriptor, bool waits = false) {
  const char* order = std::getenv(variable);
  const int file = order == nullptr ? -1 : open(order, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[256] = {};
  const ssize_t length = read(file, text, sizeof text - 1);
  char link[64];
  char path[4096] = {};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const bool meant =
      length > 0 && readlink(link, path, sizeof path - 1) > 0 && std::strstr(path, text) != nullptr;
  while (meant && waits && flock(file, LOCK_SH) != 0 && errno == EINTR) {
  }
  close(file);
  return meant;
}

int sync_by(const char* name, int descriptor) {
  is_meant("SEGUE_TEST_SYNC_WAITS", descriptor, true);
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
