// What a model says about itself: schema tables as structs of the header.

#include "runtime/src/model.h"
#include "runtime/src/shapes.h"

using namespace sdc;
using namespace sdc::rt;

static const char *
at(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> *strings,
   uint32_t index) {
  return strings && index < strings->size() ? strings->Get(index)->c_str() : "";
}

template <typename T> static uint32_t sizeOf(const T *vector) {
  return vector ? vector->size() : 0;
}

/// Element `index` of a list, or null.
template <typename T>
static const T *find(const flatbuffers::Vector<flatbuffers::Offset<T>> *list,
                     uint32_t index) {
  return index < list->size() ? list->Get(index) : nullptr;
}

void sdc_model_query(const sdc_model *model, sdc_model_info *out_info) {
  const fb::Executable &root = model->root();
  const fb::Model &numbers = *root.model();
  sdc_model_info info = {};
  info.name = text(numbers.name());
  info.layers = numbers.layers();
  info.hidden = numbers.hidden();
  info.vocabulary = numbers.vocabulary();
  info.batch = numbers.batch();
  info.context = numbers.context();
  info.model_context = numbers.model_context();
  info.prefill_chunk = numbers.prefill_chunk();
  info.recording = root.recording();
  for (const fb::Entry *entry : *root.entries()) {
    info.plain |= entry->kind() == fb::EntryKind::Plain;
    info.all_logits |=
        entry->kind() == fb::EntryKind::Prefill && entry->all_logits();
  }
  info.weight_count = root.weights()->size();
  info.state_count = root.states()->size();
  info.kernel_count = root.kernels()->size();
  info.image_count = root.images()->size();
  info.entry_count = root.entries()->size();
  info.segment_count = root.segments()->size();
  info.format_minor = model->executable.minor;
  info.file_size = model->executable.size;
  for (const fb::Weight *weight : *root.weights())
    info.weight_bytes += weight->size();
  info.digest = model->executable.digest;
  info.device = root.target() == fb::TargetFamily::Cuda ? SDC_DEVICE_CUDA
                                                        : SDC_DEVICE_CPU;
  info.level = model->level;
  info.tool_version = info.model_digest = info.calibration_digest = "";
  if (const fb::Provenance *origin = root.provenance()) {
    info.tool_version = text(origin->tool_version());
    info.model_digest = text(origin->model_digest());
    info.calibration_digest = text(origin->calibration_digest());
    uint64_t *sums[] = {&info.decode_positions, &info.prompt_positions,
                        &info.first_positions};
    for (uint32_t i = 0; i < 3 && i < sizeOf(origin->positions()); ++i)
      *sums[i] = origin->positions()->Get(i);
    info.flag_count = sizeOf(origin->flags());
    info.note_count = sizeOf(origin->notes());
  }
  fillStruct(out_info, info);
}

const char *sdc_model_flag(const sdc_model *model, uint32_t index) {
  const fb::Provenance *origin = model->root().provenance();
  return origin ? at(origin->flags(), index) : "";
}

const char *sdc_model_note(const sdc_model *model, uint32_t index) {
  const fb::Provenance *origin = model->root().provenance();
  return origin ? at(origin->notes(), index) : "";
}

bool sdc_model_weight(const sdc_model *model, uint32_t index,
                      sdc_weight_info *out_info) {
  const fb::Weight *weight = find(model->root().weights(), index);
  if (!weight)
    return false;
  sdc_weight_info info = {};
  info.name = text(weight->name());
  info.element = static_cast<sdc_element>(weight->element());
  info.rank = sizeOf(weight->shape());
  info.shape = weight->shape() ? weight->shape()->data() : nullptr;
  info.pattern_n = weight->pattern_n();
  info.pattern_m = weight->pattern_m();
  info.tile = text(weight->tile());
  info.bytes = weight->size();
  bool generated = model->root().segments()->Get(weight->segment())->kind() ==
                   fb::SegmentKind::Generated;
  info.data = generated ? nullptr : model->executable.weight(index);
  info.segment = weight->segment();
  info.note_count = sizeOf(weight->notes());
  info.method = "";
  if (const fb::Pruning *pruning = weight->pruning()) {
    info.method = text(pruning->method());
    info.damping = pruning->damping();
    info.loss = pruning->loss();
    info.relative_loss = pruning->relative_loss();
    info.pruning_note_count = sizeOf(pruning->notes());
  }
  fillStruct(out_info, info);
  return true;
}

const char *sdc_model_weight_note(const sdc_model *model, uint32_t weight,
                                  uint32_t index) {
  const fb::Weight *found = find(model->root().weights(), weight);
  return found ? at(found->notes(), index) : "";
}

const char *sdc_model_pruning_note(const sdc_model *model, uint32_t weight,
                                   uint32_t index) {
  const fb::Weight *found = find(model->root().weights(), weight);
  return found && found->pruning() ? at(found->pruning()->notes(), index) : "";
}

bool sdc_model_state(const sdc_model *model, uint32_t index,
                     sdc_state_info *out_info) {
  const fb::State *state = find(model->root().states(), index);
  if (!state)
    return false;
  sdc_state_info info = {};
  info.name = text(state->name());
  info.past_name = text(state->past_name());
  info.present_name = text(state->present_name());
  info.heads = state->heads();
  info.head_size = state->head_size();
  info.element = static_cast<sdc_element>(state->element());
  info.row_bytes = uint64_t{state->heads()} * state->head_size() *
                   elementSize(state->element());
  fillStruct(out_info, info);
  return true;
}

bool sdc_model_segment(const sdc_model *model, uint32_t index,
                       sdc_segment_info *out_info) {
  const fb::Segment *segment = find(model->root().segments(), index);
  if (!segment)
    return false;
  sdc_segment_info info = {};
  info.kind = static_cast<sdc_segment_kind>(segment->kind());
  info.offset = segment->offset();
  info.bytes = segment->size();
  info.digest = segment->digest();
  fillStruct(out_info, info);
  return true;
}

bool sdc_model_image(const sdc_model *model, uint32_t index,
                     sdc_image_info *out_info) {
  const fb::Image *image = find(model->root().images(), index);
  if (!image)
    return false;
  sdc_image_info info = {};
  info.level = text(image->level());
  info.segment = image->segment();
  info.code_size = image->code_size();
  fillStruct(out_info, info);
  return true;
}

bool sdc_model_kernel(const sdc_model *model, uint32_t index,
                      sdc_kernel_info *out_info) {
  const fb::Kernel *kernel = find(model->root().kernels(), index);
  if (!kernel)
    return false;
  sdc_kernel_info info = {};
  info.name = text(kernel->name());
  info.scratch_size = kernel->scratch_size();
  fillStruct(out_info, info);
  return true;
}

bool sdc_model_entry(const sdc_model *model, uint32_t index,
                     sdc_entry_info *out_info) {
  const fb::Entry *entry = find(model->root().entries(), index);
  if (!entry)
    return false;
  sdc_entry_info info = {};
  info.name = text(entry->name());
  info.kind = static_cast<sdc_entry_kind>(entry->kind());
  info.batch = entry->batch();
  info.rows = entry->rows();
  info.all_logits = entry->all_logits();
  info.arena_size = entry->arena_size();
  info.binding_count = entry->bindings()->size();
  info.launch_count = entry->launches()->size();
  fillStruct(out_info, info);
  return true;
}

bool sdc_model_binding(const sdc_model *model, uint32_t entry, uint32_t index,
                       sdc_binding_info *out_info) {
  const fb::Entry *owner = find(model->root().entries(), entry);
  const fb::Binding *binding = owner ? find(owner->bindings(), index) : nullptr;
  if (!binding)
    return false;
  sdc_binding_info info = {};
  info.role = static_cast<sdc_role>(binding->role());
  info.name = text(binding->name());
  info.element = static_cast<sdc_element>(binding->element());
  info.rank = sizeOf(binding->shape());
  info.shape = binding->shape() ? binding->shape()->data() : nullptr;
  ShapeProblem problem;
  (void)shapeBytes(binding->shape(), binding->element(), info.bytes, problem);
  fillStruct(out_info, info);
  return true;
}

bool sdc_model_launch(const sdc_model *model, uint32_t entry, uint32_t index,
                      sdc_launch_info *out_info) {
  const fb::Executable &root = model->root();
  const fb::Entry *owner = find(root.entries(), entry);
  const fb::Launch *launch = owner ? find(owner->launches(), index) : nullptr;
  if (!launch)
    return false;
  sdc_launch_info info = {};
  info.label = text(launch->label());
  info.kernel = launch->kernel();
  info.units = launch->units();
  info.operand_count = launch->operands()->size();
  for (const fb::Operand *operand : *launch->operands())
    if (operand->kind() == fb::OperandKind::Weight)
      info.weight_bytes += root.weights()->Get(operand->index())->size();
  fillStruct(out_info, info);
  return true;
}

const void *sdc_model_text(const sdc_model *model, size_t *out_size) {
  int32_t index = model->root().text_segment();
  if (index < 0)
    return nullptr;
  *out_size = model->root().segments()->Get(index)->size();
  return model->executable.segment(index);
}
