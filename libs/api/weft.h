// Includes everything that a program needs to build and run graphs. Such
// programs link //:weft.
#ifndef WEFT_LIBS_API_WEFT_H_
#define WEFT_LIBS_API_WEFT_H_

#include "libs/api/training.h"
#include "libs/estimator/canned/canned.h"
#include "libs/estimator/dataset_inputs.h"
#include "libs/estimator/early_stopping.h"
#include "libs/estimator/estimator.h"
#include "libs/estimator/experiment.h"
#include "libs/estimator/exporter.h"
#include "libs/estimator/hparams.h"
#include "libs/estimator/inputs.h"
#include "libs/estimator/train_and_evaluate.h"
#include "libs/feature_column/feature_column.h"
#include "libs/feature_column/input_layer.h"
#include "libs/feature_column/parse_spec.h"
#include "libs/train/saved_model/saved_model.h"
#include "libs/train/saved_model/saved_model_builder.h"
#include "libs/train/sessions/warm_start.h"

#endif  // WEFT_LIBS_API_WEFT_H_
