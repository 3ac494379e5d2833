#pragma once

/// Segue's client library: include this, or only the parts you use.
#include "segue/admin.h"
#include "segue/cluster.h"
#include "segue/connection.h"
#include "segue/consumer.h"
#include "segue/delivery.h"
#include "segue/error.h"
#include "segue/held_deliveries.h"
#include "segue/message.h"
#include "segue/options.h"
#include "segue/publisher.h"
#include "segue/requester.h"
#include "segue/result.h"
#include "segue/value.h"
