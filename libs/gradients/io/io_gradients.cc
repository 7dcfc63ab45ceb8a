// Ops that read or write files have no gradients.
#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

void RegisterIoGradients(GradientRegistry& registry) {
  for (const char* op :
       {"SaveV2", "_SaveVariables", "Save", "SaveSlices", "RestoreV2",
        "Restore", "RestoreSlice", "MergeV2Checkpoints", "ShardedFilename",
        "ShardedFilespec", "ReadFile", "WriteFile", "MatchingFiles",
        "GenerateVocabRemapping", "LoadAndRemapMatrix"}) {
    registry.RegisterNone(op);
  }
  for (const char* op : {"TextLineReader",
                         "TextLineReaderV2",
                         "FixedLengthRecordReader",
                         "FixedLengthRecordReaderV2",
                         "TFRecordReader",
                         "TFRecordReaderV2",
                         "WholeFileReader",
                         "WholeFileReaderV2",
                         "IdentityReader",
                         "IdentityReaderV2",
                         "ReaderRead",
                         "ReaderReadV2",
                         "ReaderReadUpTo",
                         "ReaderReadUpToV2",
                         "ReaderReset",
                         "ReaderResetV2",
                         "ReaderNumRecordsProduced",
                         "ReaderNumRecordsProducedV2",
                         "ReaderNumWorkUnitsCompleted",
                         "ReaderNumWorkUnitsCompletedV2",
                         "ReaderSerializeState",
                         "ReaderSerializeStateV2",
                         "ReaderRestoreState",
                         "ReaderRestoreStateV2"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
