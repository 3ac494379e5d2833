#pragma once

#include "cli/command.h"

namespace segue::cli {

// The commands' entries for the table, one file for each.

CommandEntry up_command();
CommandEntry demo_command();
CommandEntry status_command();
CommandEntry queue_declare_command();
CommandEntry queue_list_command();
CommandEntry queue_show_command();
CommandEntry queue_delete_command();
CommandEntry cancel_delayed_command();
CommandEntry exchange_declare_command();
CommandEntry exchange_list_command();
CommandEntry exchange_delete_command();
/// "binding create", and "binding declare", which is the same.
CommandEntry binding_create_command(std::string path);
CommandEntry binding_list_command();
CommandEntry binding_delete_command();
CommandEntry policy_set_command();
CommandEntry policy_list_command();
CommandEntry policy_delete_command();
CommandEntry vhost_create_command();
CommandEntry vhost_list_command();
CommandEntry vhost_delete_command();
CommandEntry publish_command();
CommandEntry consume_command();
CommandEntry get_command();
CommandEntry request_command();
CommandEntry browse_command();
CommandEntry move_command();
/// "purge", and "queue purge", which is the same.
CommandEntry purge_command(std::string path);
CommandEntry definitions_export_command();
CommandEntry definitions_import_command();
CommandEntry definitions_diff_command();
CommandEntry segments_command();
CommandEntry gc_status_command();
CommandEntry gc_run_command();
CommandEntry gc_pause_command();
CommandEntry gc_resume_command();
CommandEntry bench_command();
CommandEntry export_command();
CommandEntry import_command();
CommandEntry check_command();
CommandEntry backup_command();
CommandEntry restore_command();
CommandEntry completion_command();

}  // namespace segue::cli
