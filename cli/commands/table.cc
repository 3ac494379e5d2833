#include "cli/commands/commands.h"

namespace segue::cli {

const std::vector<CommandEntry>& command_table() {
  static const std::vector<CommandEntry> table = {
      up_command(),
      demo_command(),
      status_command(),
      queue_declare_command(),
      queue_list_command(),
      queue_show_command(),
      queue_delete_command(),
      purge_command("queue purge"),
      cancel_delayed_command(),
      exchange_declare_command(),
      exchange_list_command(),
      exchange_delete_command(),
      binding_create_command("binding create"),
      binding_create_command("binding declare"),
      binding_list_command(),
      binding_delete_command(),
      policy_set_command(),
      policy_list_command(),
      policy_delete_command(),
      vhost_create_command(),
      vhost_list_command(),
      vhost_delete_command(),
      publish_command(),
      consume_command(),
      get_command(),
      request_command(),
      browse_command(),
      move_command(),
      purge_command("purge"),
      export_command(),
      import_command(),
      definitions_export_command(),
      definitions_import_command(),
      definitions_diff_command(),
      segments_command(),
      gc_status_command(),
      gc_run_command(),
      gc_pause_command(),
      gc_resume_command(),
      bench_command(),
      check_command(),
      backup_command(),
      restore_command(),
      completion_command(),
  };
  return table;
}

}  // namespace segue::cli
