// Writes greedy tokens after a prompt of token ids: for models without a
// tokenizer.
//
//   greedy MODEL.sdx THREADS COUNT ID...

#include "sdc/sdc.h"

#include <stdio.h>
#include <stdlib.h>

static int fail(const sdc_error *error) {
  fprintf(stderr, "%s\n", error->message);
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  sdc_error error;
  sdc_model *model;
  if (sdc_model_open(argv[1], NULL, &model, &error) != SDC_OK)
    return fail(&error);
  sdc_session_options options = {sizeof(options)};
  options.threads = (uint32_t)atoi(argv[2]);
  sdc_session *session;
  if (sdc_session_create(model, &options, &session, &error) != SDC_OK)
    return fail(&error);
  int32_t prompt[256];
  size_t count = 0;
  for (int i = 4; i < argc && count < 256; ++i)
    prompt[count++] = atoi(argv[i]);

  // The last slot, so that slots other than the first are seen to work.
  uint32_t slots = sdc_session_slots(session);
  uint32_t slot = slots - 1;
  if (sdc_prefill(session, slot, prompt, count, &error) != SDC_OK)
    return fail(&error);
  int32_t *feed = malloc(slots * sizeof(int32_t));
  for (uint32_t i = 0; i < slots; ++i)
    feed[i] = SDC_NO_TOKEN;
  int wanted = atoi(argv[3]);
  for (int step = 0; step < wanted; ++step) {
    if (sdc_slot_sample(session, slot, NULL, (uint32_t)step, &feed[slot],
                        &error) != SDC_OK)
      return fail(&error);
    printf(step ? " %d" : "%d", feed[slot]);
    if (step + 1 < wanted && sdc_decode(session, feed, &error) != SDC_OK)
      return fail(&error);
  }
  printf("\n");
  free(feed);
  sdc_session_destroy(session);
  sdc_model_close(model);
  return 0;
}
