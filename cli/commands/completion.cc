#include "cli/completion.h"

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"

namespace segue::cli {

namespace {

class CompletionCommand final : public Command {
 public:
  void declare(OptionTable& options) override {
    options.positional(
        shell_,
        {"SHELL", "bash, zsh or fish", true, OptionTable::Names::kNone, {"bash", "zsh", "fish"}});
  }
  Status check(const OptionTable& /*options*/) override {
    if (shell_ == "bash" || shell_ == "zsh" || shell_ == "fish") return Status::ok();
    return Status(Code::kInvalidConfig,
                  "no completion for '" + shell_.substr(0, 80) + "'; there are: bash, zsh, fish");
  }
  int run(Console& console) override {
    const auto& table = command_table();
    console.write(shell_ == "bash"  ? bash_completion(table)
                  : shell_ == "zsh" ? zsh_completion(table)
                                    : fish_completion(table));
    return kExitOk;
  }

 private:
  std::string shell_;
};

}  // namespace

CommandEntry completion_command() {
  return {"completion", "print a completion script for a shell",
          "Examples:\n  source <(segue completion bash)\n"
          "  segue completion fish > ~/.config/fish/completions/segue.fish\n",
          [] { return std::make_unique<CompletionCommand>(); }};
}

}  // namespace segue::cli
