#include "client/frame_reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>

namespace segue::client {

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr std::uint32_t bytes_tag(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}
constexpr std::uint32_t varint_tag(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_VARINT);
}

/// Walks over the fields of one message that lies in `bytes`.
class FieldWalk {
 public:
  explicit FieldWalk(const SharedBytes& bytes)
      : bytes_(bytes),
        input_(reinterpret_cast<const std::uint8_t*>(bytes.data()),
               static_cast<int>(bytes.size())) {}

  /// The next field's tag; 0 at the end or where the bytes are broken.
  std::uint32_t next() { return input_.ReadTag(); }
  bool at_end() { return input_.ConsumedEntireMessage(); }
  bool read(std::uint64_t& value) { return input_.ReadVarint64(&value); }
  bool read(SharedBytes& value) {
    std::uint32_t size = 0;
    if (!input_.ReadVarint32(&size)) return false;
    const auto at = static_cast<std::size_t>(input_.CurrentPosition());
    if (size > bytes_.size() - at) return false;
    value = bytes_.slice(at, size);
    return input_.Skip(static_cast<int>(size));
  }
  bool skip(std::uint32_t tag) { return WireFormatLite::SkipField(&input_, tag); }

 private:
  const SharedBytes& bytes_;
  CodedInputStream input_;
};

bool read_numbers(const SharedBytes& packed, std::vector<std::uint32_t>& numbers) {
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(packed.data()),
                         static_cast<int>(packed.size()));
  while (input.CurrentPosition() < static_cast<int>(packed.size())) {
    std::uint64_t number = 0;
    if (!input.ReadVarint64(&number)) return false;
    numbers.push_back(static_cast<std::uint32_t>(number));
  }
  return true;
}

bool read_batch(const SharedBytes& bytes, IncomingDeliver& deliver) {
  FieldWalk walk(bytes);
  while (const std::uint32_t tag = walk.next()) {
    SharedBytes part;
    bool fine = true;
    if (tag == bytes_tag(v1::DeliveryBatch::kMessagesFieldNumber)) {
      fine = walk.read(deliver.messages);
    } else if (tag == bytes_tag(v1::DeliveryBatch::kRedeliveredFieldNumber)) {
      fine = walk.read(part) && read_numbers(part, deliver.redelivered);
    } else if (tag == bytes_tag(v1::DeliveryBatch::kDeliveryCountFieldNumber)) {
      fine = walk.read(part) && read_numbers(part, deliver.delivery_count);
    } else {
      fine = walk.skip(tag);
    }
    if (!fine) return false;
  }
  return walk.at_end();
}

bool read_deliver(const SharedBytes& bytes, IncomingDeliver& deliver) {
  FieldWalk walk(bytes);
  while (const std::uint32_t tag = walk.next()) {
    SharedBytes part;
    bool fine = true;
    if (tag == varint_tag(v1::Deliver::kConsumerFieldNumber)) {
      fine = walk.read(deliver.consumer);
    } else if (tag == varint_tag(v1::Deliver::kFirstTagFieldNumber)) {
      fine = walk.read(deliver.first_tag);
    } else if (tag == bytes_tag(v1::Deliver::kBatchFieldNumber)) {
      fine = walk.read(part) && read_batch(part, deliver);
    } else {
      fine = walk.skip(tag);
    }
    if (!fine) return false;
  }
  return walk.at_end();
}

/// Finds the link header and, if the body is a Deliver, its bytes. False: broken.
bool split(const SharedBytes& header, SharedBytes& link, SharedBytes& deliver, bool& is_deliver) {
  FieldWalk walk(header);
  while (const std::uint32_t tag = walk.next()) {
    bool fine = true;
    if (tag == bytes_tag(v1::RouterFrame::kLinkFieldNumber)) {
      fine = walk.read(link);
    } else if (tag == bytes_tag(v1::RouterFrame::kDeliverFieldNumber)) {
      is_deliver = true;
      fine = walk.read(deliver);
    } else {
      is_deliver = false;
      fine = walk.skip(tag);
    }
    if (!fine) return false;
  }
  return walk.at_end();
}

}  // namespace

bool read_frame(const SharedBytes& header, IncomingFrame& frame) {
  if (header.size() > std::numeric_limits<std::int32_t>::max()) return false;
  SharedBytes link;
  SharedBytes deliver;
  frame.is_deliver = false;
  if (!split(header, link, deliver, frame.is_deliver)) return false;
  if (frame.is_deliver) {
    v1::LinkHeader parsed;
    if (!parsed.ParseFromArray(link.data(), static_cast<int>(link.size()))) return false;
    frame.epoch = parsed.epoch();
    frame.sequence = parsed.sequence();
    frame.deliver = {};
    return read_deliver(deliver, frame.deliver);
  }
  if (!frame.frame.ParseFromArray(header.data(), static_cast<int>(header.size()))) return false;
  frame.epoch = frame.frame.link().epoch();
  frame.sequence = frame.frame.link().sequence();
  return true;
}

}  // namespace segue::client
