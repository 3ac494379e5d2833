#pragma once

#include <string>

#include "segue/v1/catalog.pb.h"

namespace segue::node::testing_catalog {

// Operations as routers send them, for tests of the catalog.

inline v1::SessionOwner owner(const std::string& router, std::uint64_t incarnation,
                              std::uint64_t session) {
  v1::SessionOwner made;
  made.set_router_id(router);
  made.set_router_incarnation(incarnation);
  made.set_session_id(session);
  return made;
}

inline v1::CatalogOperation declare_queue(const std::string& name) {
  v1::CatalogOperation operation;
  v1::QueueDefinition* queue = operation.mutable_declare_queue()->mutable_queue();
  queue->set_vhost("/");
  queue->set_name(name);
  queue->set_durable(true);
  return operation;
}

inline v1::CatalogOperation delete_queue(const std::string& name) {
  v1::CatalogOperation operation;
  operation.mutable_delete_queue()->set_vhost("/");
  operation.mutable_delete_queue()->set_name(name);
  return operation;
}

inline v1::CatalogOperation declare_exchange(const std::string& name, const std::string& type) {
  v1::CatalogOperation operation;
  v1::ExchangeDefinition* exchange = operation.mutable_declare_exchange()->mutable_exchange();
  exchange->set_vhost("/");
  exchange->set_name(name);
  exchange->set_type(type);
  exchange->set_durable(true);
  return operation;
}

inline v1::CatalogOperation delete_exchange(const std::string& name) {
  v1::CatalogOperation operation;
  operation.mutable_delete_exchange()->set_vhost("/");
  operation.mutable_delete_exchange()->set_name(name);
  return operation;
}

inline v1::BindingDefinition binding(const std::string& exchange, const std::string& queue,
                                     const std::string& key) {
  v1::BindingDefinition made;
  made.set_vhost("/");
  made.set_exchange(exchange);
  made.set_queue(queue);
  made.set_routing_key(key);
  return made;
}

inline v1::CatalogOperation bind_queue(const std::string& exchange, const std::string& queue,
                                       const std::string& key) {
  v1::CatalogOperation operation;
  *operation.mutable_bind() = binding(exchange, queue, key);
  return operation;
}

inline v1::CatalogOperation unbind_queue(const std::string& exchange, const std::string& queue,
                                         const std::string& key) {
  v1::CatalogOperation operation;
  *operation.mutable_unbind() = binding(exchange, queue, key);
  return operation;
}

}  // namespace segue::node::testing_catalog
