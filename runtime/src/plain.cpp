// Runs plain graphs by the names of their inputs and outputs.

#include "runtime/src/session.h"
#include "runtime/src/shapes.h"
#include "runtime/src/status.h"

#include <cinttypes>
#include <cstring>

using namespace sdc;
using namespace sdc::rt;

/// Number of the binding that `tensor` names, if all else fits too.
static sdc_status match(const fb::Entry &entry, fb::Role role,
                        const sdc_tensor &tensor, uint32_t &number,
                        sdc_error *error) {
  const char *what = role == fb::Role::Input ? "input" : "output";
  const char *name = tensor.name ? tensor.name : "";
  const auto &bindings = *entry.bindings();
  number = 0;
  while (number < bindings.size() &&
         (bindings.Get(number)->role() != role ||
          strcmp(text(bindings.Get(number)->name()), name) != 0))
    ++number;
  if (number == bindings.size())
    return fail(error, SDC_BAD_TENSOR, "the graph has no %s '%s'", what, name);
  const fb::Binding &binding = *bindings.Get(number);
  auto element = static_cast<sdc_element>(binding.element());
  if (tensor.element != element)
    return fail(error, SDC_BAD_TENSOR, "%s '%s' is of type %s, expected %s",
                what, name, sdc_element_name(tensor.element),
                sdc_element_name(element));
  uint32_t rank = binding.shape() ? binding.shape()->size() : 0;
  if (tensor.rank != rank)
    return fail(error, SDC_BAD_TENSOR, "%s '%s' has rank %u, expected %u", what,
                name, tensor.rank, rank);
  for (uint32_t i = 0; i < rank; ++i)
    if (tensor.shape[i] != binding.shape()->Get(i))
      return fail(error, SDC_BAD_TENSOR,
                  "dimension %u of %s '%s' is %" PRId64 ", expected %" PRId64,
                  i, what, name, tensor.shape[i], binding.shape()->Get(i));
  uint64_t bytes = 0;
  ShapeProblem problem;
  (void)shapeBytes(binding.shape(), binding.element(), bytes, problem);
  if (tensor.bytes != bytes || !tensor.data)
    return fail(error, SDC_BAD_TENSOR,
                "%s '%s' has %zu bytes, expected %" PRIu64, what, name,
                tensor.data ? tensor.bytes : 0, bytes);
  return SDC_OK;
}

/// Every input of the graph must be among those given, once.
static sdc_status checkComplete(const fb::Entry &entry,
                                const sdc_tensor *inputs, size_t count,
                                sdc_error *error) {
  for (const fb::Binding *binding : *entry.bindings()) {
    if (binding->role() != fb::Role::Input)
      continue;
    unsigned found = 0;
    for (size_t i = 0; i < count; ++i)
      found += strcmp(inputs[i].name, text(binding->name())) == 0;
    if (found != 1)
      return fail(error, SDC_BAD_TENSOR, "input '%s' is given %u times",
                  text(binding->name()), found);
  }
  return SDC_OK;
}

sdc_status sdc_run(sdc_session *session, const sdc_tensor *inputs,
                   size_t input_count, const sdc_tensor *outputs,
                   size_t output_count, sdc_error *out_error) {
  if (!session->plan.has(Use::Plain))
    return fail(out_error, SDC_NOT_COMPILED,
                "the executable is a decoder, not a plain graph");
  const fb::Entry &entry = session->plan.entry(Use::Plain);
  uint32_t number = 0;
  for (size_t i = 0; i < input_count; ++i)
    SDC_TRY(match(entry, fb::Role::Input, inputs[i], number, out_error));
  for (size_t i = 0; i < output_count; ++i)
    SDC_TRY(match(entry, fb::Role::Output, outputs[i], number, out_error));
  SDC_TRY(checkComplete(entry, inputs, input_count, out_error));
  SDC_TRY(takeCancel(*session, out_error));

  const Device &device = *session->device;
  for (size_t i = 0; i < input_count; ++i) {
    SDC_TRY(match(entry, fb::Role::Input, inputs[i], number, out_error));
    memcpy(device.view(session->onDevice, Use::Plain, number), inputs[i].data,
           inputs[i].bytes);
  }
  sdc_status status =
      device.run(session->onDevice, Use::Plain, session->cancel, out_error);
  if (status == SDC_CANCELLED)
    return takeCancel(*session, out_error);
  if (status != SDC_OK)
    return status;
  for (size_t i = 0; i < output_count; ++i) {
    SDC_TRY(match(entry, fb::Role::Output, outputs[i], number, out_error));
    memcpy(outputs[i].data, device.view(session->onDevice, Use::Plain, number),
           outputs[i].bytes);
  }
  return SDC_OK;
}
