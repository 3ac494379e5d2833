#include "cli/endpoint.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/console.h"
#include "common/config_values.h"
#include "common/json_input.h"

namespace segue::cli {

namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

Status wrong(const std::string& source, const std::string& what) {
  return Status(Code::kInvalidConfig, source + ": " + what);
}

Status add_router(Endpoint& endpoint, std::string text) {
  Result<std::string> full = full_endpoint(std::move(text));
  if (!full) return wrong(endpoint.source, full.status().message());
  endpoint.routers.push_back(*std::move(full));
  return Status::ok();
}

// "a,b": each of them.
Status add_routers(Endpoint& endpoint, const std::string& text) {
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    SEGUE_RETURN_IF_ERROR(add_router(endpoint, text.substr(from, comma - from)));
    from = comma + 1;
  }
  return Status::ok();
}

Status read_member(Endpoint& endpoint, const std::string& name, const JsonValue& value) {
  if (name == "vhost") {
    const auto* text = value.text();
    if (text == nullptr) return wrong(endpoint.source, "\"vhost\" must be a string");
    endpoint.vhost = *text;
    return Status::ok();
  }
  if (name != "routers") {
    return wrong(endpoint.source, "no setting \"" + name + "\"; there are: routers, vhost");
  }
  if (const auto* one = value.text()) return add_routers(endpoint, *one);
  const auto* list = value.array();
  if (list == nullptr) return wrong(endpoint.source, "\"routers\" must be a list of endpoints");
  for (const JsonValue& item : *list) {
    const auto* text = item.text();
    if (text == nullptr) return wrong(endpoint.source, "\"routers\" must be a list of strings");
    SEGUE_RETURN_IF_ERROR(add_router(endpoint, *text));
  }
  return Status::ok();
}

Status read_file(Endpoint& endpoint, const std::string& text) {
  const Result<JsonValue> json = parse_json(text);
  if (!json) return wrong(endpoint.source, json.status().message());
  const auto* object = json->object();
  if (object == nullptr) return wrong(endpoint.source, "expected a JSON object");
  for (const auto& [name, value] : *object) {
    SEGUE_RETURN_IF_ERROR(read_member(endpoint, name, value));
  }
  return Status::ok();
}

// The file's path, and whether it must be there.
std::pair<std::string, bool> config_path(const EndpointLookup& lookup) {
  if (const auto path = lookup.environment("SEGUE_CONFIG")) return {*path, true};
  if (const auto base = lookup.environment("XDG_CONFIG_HOME")) {
    return {*base + "/segue/config.json", false};
  }
  if (const auto home = lookup.environment("HOME")) {
    return {*home + "/.config/segue/config.json", false};
  }
  return {};
}

}  // namespace

Result<std::string> full_endpoint(std::string text) {
  if (text.find("://") == std::string::npos) text = "tcp://" + text;
  const Status status = check_endpoint(text, EndpointUse::kConnect);
  if (!status.is_ok()) return status;
  return text;
}

EndpointLookup system_lookup() {
  return {environment, [](const std::string& path) -> Result<std::optional<std::string>> {
            const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
            if (!file) {
              if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>();
              return Status(Code::kIoError, "cannot read " + path + ": " + std::strerror(errno));
            }
            std::string text(kMaxFileBytes, '\0');
            text.resize(std::fread(text.data(), 1, text.size(), file.get()));
            return std::optional<std::string>(std::move(text));
          }};
}

Result<Endpoint> choose_endpoint(const std::vector<std::string>& flags,
                                 const EndpointLookup& lookup) {
  Endpoint endpoint;
  const auto [path, required] = config_path(lookup);
  Result<std::optional<std::string>> text = std::optional<std::string>();
  if (!path.empty()) text = lookup.read_file(path);
  if (text.is_ok() && text->has_value()) {
    endpoint.source = path;
    SEGUE_RETURN_IF_ERROR(read_file(endpoint, **text));
  } else if (required) {
    return text ? wrong("SEGUE_CONFIG", "there is no file " + path) : text.status();
  }
  const auto override_with = [&](const char* source) {
    endpoint.routers.clear();
    endpoint.source = source;
  };
  if (!flags.empty()) {
    override_with("--router");
    for (const std::string& flag : flags) SEGUE_RETURN_IF_ERROR(add_routers(endpoint, flag));
  } else if (const auto variable = lookup.environment("SEGUE_ROUTER")) {
    override_with("SEGUE_ROUTER");
    SEGUE_RETURN_IF_ERROR(add_routers(endpoint, *variable));
  }
  if (const auto vhost = lookup.environment("SEGUE_VHOST")) endpoint.vhost = *vhost;
  if (endpoint.routers.empty()) {
    endpoint.source = "the default";
    endpoint.routers = {kDefaultRouter};
  }
  return endpoint;
}

}  // namespace segue::cli
