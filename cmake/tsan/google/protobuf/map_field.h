// Read before Protobuf's header of this name, under the thread sanitizer. For that, theirs gives
// MapFieldBase two members more. The installed libprotobuf, built without, does not know of them:
// its code would write over other members, in every message with a map. So the header is read as
// the library was built.
#pragma once

// The standard library keeps what it does for the sanitizer.
#include <memory>
#include <string>

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include_next <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")
