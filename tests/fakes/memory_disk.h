#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/random.h"

namespace segue::storage {

/// The disk under FaultyFileSystem: names and contents as programs see them now, beside what a
/// power loss could leave of them. No locking, no checking of paths: its owner does that.
class MemoryDisk {
 public:
  struct Change {  // of a content
    std::uint64_t offset = 0;
    std::string data;
    std::optional<std::uint64_t> size;  // set: a truncation
  };
  struct Inode {
    std::string now;
    std::string synced;
    std::vector<Change> unsynced;
  };
  using InodePtr = std::shared_ptr<Inode>;
  struct Image {
    std::map<std::string, std::string> files;
    std::set<std::string> directories;
  };

  static std::string parent(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0) return "/";
    return path.substr(0, slash);
  }

  bool is_directory(const std::string& path) const {
    if (path == "/" || path.empty() || path == ".") return true;
    const auto found = now_.find(path);
    return found != now_.end() && found->second == nullptr;
  }
  bool exists(const std::string& path) const { return is_directory(path) || now_.contains(path); }
  /// Null if there is no such file.
  InodePtr find(const std::string& path) const {
    const auto found = now_.find(path);
    return found == now_.end() ? nullptr : found->second;
  }

  InodePtr create(const std::string& path) {
    auto inode = std::make_shared<Inode>();
    change_names({{path, Name{inode}}});
    return inode;
  }
  void make_directory(const std::string& path) { change_names({{path, Name{nullptr}}}); }
  void remove(const std::string& path) { change_names({{path, std::nullopt}}); }
  void rename(const std::string& from, const std::string& to) {
    NameChange change{{from, std::nullopt}, {to, Name{now_.at(from)}}};
    const std::string below = from + "/";  // of a directory: everything in it
    for (auto at = now_.lower_bound(below); at != now_.end() && at->first.starts_with(below);
         ++at) {
      change.emplace_back(at->first, std::nullopt);
      change.emplace_back(to + at->first.substr(from.size()), at->second);
    }
    change_names(std::move(change));
  }
  void link(const std::string& from, const std::string& to) {
    change_names({{to, Name{now_.at(from)}}});
  }
  void sync_directory(const std::string& path) {
    std::erase_if(unsynced_names_, [&](const NameChange& change) {
      // What is in a directory that got another name, behind the second, is not named here.
      const auto end = change.begin() + std::min<std::ptrdiff_t>(2, std::ssize(change));
      const bool here = std::any_of(change.begin(), end,
                                    [&](const auto& step) { return parent(step.first) == path; });
      if (here) apply(synced_, change);
      return here;
    });
  }

  void sync_all() {
    for (const auto& [path, inode] : now_) {
      if (inode != nullptr) sync(*inode);
    }
    unsynced_names_.clear();
    synced_ = now_;
  }

  static void write(Inode& inode, std::uint64_t offset, std::string_view data) {
    put(inode.now, offset, data);
    inode.unsynced.push_back({offset, std::string(data), std::nullopt});
  }
  static void truncate(Inode& inode, std::uint64_t size) {
    inode.now.resize(size);
    inode.unsynced.push_back({0, {}, size});
  }
  static void sync(Inode& inode) {
    inode.synced = inode.now;
    inode.unsynced.clear();
  }

  std::vector<std::string> list(const std::string& path) const {
    std::vector<std::string> names;
    const std::string prefix = path == "/" ? "/" : path + "/";
    for (auto at = now_.lower_bound(prefix); at != now_.end() && at->first.starts_with(prefix);
         ++at) {
      if (at->first.find('/', prefix.size()) == std::string::npos) {
        names.push_back(at->first.substr(prefix.size()));
      }
    }
    return names;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> paths;
    for (const auto& [path, inode] : now_) {
      if (inode != nullptr) paths.push_back(path);
    }
    return paths;
  }
  std::uint64_t used_bytes() const {
    std::uint64_t used = 0;
    for (const auto& [path, inode] : now_) used += inode == nullptr ? 0 : inode->now.size();
    return used;
  }

  /// As it is, with what a power loss could do to it; of its own contents.
  MemoryDisk copy() const {
    std::map<const Inode*, InodePtr> copies;
    const auto copied = [&copies](const InodePtr& inode) -> InodePtr {
      if (inode == nullptr) return nullptr;
      InodePtr& made = copies[inode.get()];
      if (made == nullptr) made = std::make_shared<Inode>(*inode);
      return made;
    };
    MemoryDisk disk;
    for (const auto& [path, inode] : now_) disk.now_[path] = copied(inode);
    for (const auto& [path, inode] : synced_) disk.synced_[path] = copied(inode);
    disk.unsynced_names_ = unsynced_names_;
    for (NameChange& change : disk.unsynced_names_) {
      for (auto& [path, name] : change) {
        if (name.has_value()) name = copied(*name);
      }
    }
    return disk;
  }

  /// Power loss: what is synced stays, of the rest any subset does.
  void crash(Random& random) {
    const Fate names(random);
    for (const NameChange& change : unsynced_names_) {
      if (names.survives()) apply(synced_, change);
    }
    unsynced_names_.clear();
    std::erase_if(synced_, [this](const auto& entry) { return !ancestors_synced(entry.first); });
    now_ = synced_;
    for (const auto& [path, inode] : now_) {
      if (inode != nullptr) crash_content(*inode, Fate(random));
    }
  }

  Image image() const {
    Image image;
    for (const auto& [path, inode] : now_) {
      if (inode == nullptr) {
        image.directories.insert(path);
      } else {
        image.files[path] = inode->now;
      }
    }
    return image;
  }
  void restore(const Image& image) {
    now_.clear();
    unsynced_names_.clear();
    for (const std::string& path : image.directories) now_[path] = nullptr;
    for (const auto& [path, content] : image.files) {
      now_[path] = std::make_shared<Inode>(Inode{content, content, {}});
    }
    synced_ = now_;
  }
  /// A file that is durable at once, with the directories above it.
  void place(const std::string& path, std::string content) {
    for (std::string up = parent(path); !is_directory(up); up = parent(up)) {
      now_[up] = synced_[up] = nullptr;
    }
    auto inode = std::make_shared<Inode>();
    inode->now = inode->synced = std::move(content);
    now_[path] = synced_[path] = inode;
  }

 private:
  using Name = InodePtr;  // null: a directory
  using Names = std::map<std::string, Name>;
  using NameChange = std::vector<std::pair<std::string, std::optional<Name>>>;  // all or nothing

  /// How much of what was not synced survives: all, nothing, or a random part.
  class Fate {
   public:
    explicit Fate(Random& random) : random_(random), percent_(odds(random)) {}
    bool survives() const { return random_.below(100) < percent_; }

   private:
    static std::uint64_t odds(Random& random) {
      switch (random.below(4)) {
        case 0:
          return 0;
        case 1:
          return 100;
        default:
          return 5 + random.below(91);
      }
    }
    Random& random_;
    std::uint64_t percent_;
  };

  static void apply(Names& names, const NameChange& change) {
    if (change.size() > 2) return apply_to_directory(names, change);
    for (const auto& [path, name] : change) {
      if (!name) {
        names.erase(path);
        continue;
      }
      // A rename takes the other name away: that it got a later one implies that the earlier
      // renames happened. A link, which is a change of one name, does not.
      const auto& file = *name;  // a lambda of Clang 14 cannot take a binding
      if (file != nullptr && change.size() > 1) {
        std::erase_if(names, [&](const auto& entry) { return entry.second == file; });
      }
      names[path] = file;
    }
  }
  /// What the directory has in `names` goes with it.
  static void apply_to_directory(Names& names, const NameChange& change) {
    for (std::size_t i = 0; i + 1 < change.size(); i += 2) {
      auto moved = names.extract(change[i].first);
      if (moved.empty()) continue;
      moved.key() = change[i + 1].first;
      names.erase(moved.key());
      names.insert(std::move(moved));
    }
  }
  void change_names(NameChange change) {
    apply(now_, change);
    unsynced_names_.push_back(std::move(change));
  }
  bool ancestors_synced(const std::string& path) const {
    for (std::string up = parent(path); up != "/" && !up.empty() && up != "."; up = parent(up)) {
      const auto found = synced_.find(up);
      if (found == synced_.end() || found->second != nullptr) return false;
    }
    return true;
  }
  static void put(std::string& content, std::uint64_t offset, std::string_view data) {
    if (data.empty()) return;
    if (content.size() < offset + data.size()) content.resize(offset + data.size());
    std::copy(data.begin(), data.end(), content.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  static void crash_content(Inode& inode, const Fate& fate) {
    constexpr std::uint64_t kSector = 512;
    std::string content = inode.synced;
    for (const Change& change : inode.unsynced) {
      if (change.size) {
        if (fate.survives()) content.resize(*change.size);
        continue;
      }
      std::uint64_t done = 0;
      while (done < change.data.size()) {
        const std::uint64_t at = change.offset + done;
        const std::uint64_t length =
            std::min<std::uint64_t>(kSector - at % kSector, change.data.size() - done);
        if (fate.survives()) put(content, at, std::string_view(change.data).substr(done, length));
        done += length;
      }
    }
    inode.now = inode.synced = std::move(content);
    inode.unsynced.clear();
  }

  Names now_;
  Names synced_;
  std::vector<NameChange> unsynced_names_;
};

}  // namespace segue::storage
