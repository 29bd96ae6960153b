// run_logits MODEL.sdx THREADS PROMPT DECODE TOKEN...: feeds PROMPT tokens to
// the last slot and decodes DECODE more; after the prompt and after each decode
// writes the logits, as raw f32.
#include <sdc/sdc.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const sdc_error *error) {
  fprintf(stderr, "run_logits: error: %s\n", error->message);
  return 1;
}

int main(int argc, char **argv) {
  int32_t tokens[256], step[64];
  if (argc < 6)
    return 2;
  int prompt = atoi(argv[3]), decode = atoi(argv[4]);
  for (int i = 5; i < argc; ++i)
    tokens[i - 5] = atoi(argv[i]);

  sdc_error error;
  sdc_model *model;
  if (sdc_model_open(argv[1], NULL, &model, &error))
    return failed(&error);
  sdc_session_options options = {.struct_size = sizeof(options)};
  options.threads = atoi(argv[2]);
  sdc_session *session;
  if (sdc_session_create(model, &options, &session, &error))
    return failed(&error);
  sdc_model_info info = {.struct_size = sizeof(info)};
  sdc_model_query(model, &info);
  uint32_t slot = sdc_session_slots(session) - 1;

  if (sdc_prefill(session, slot, tokens, prompt, &error))
    return failed(&error);
  for (int i = 0;; ++i) {
    fwrite(sdc_slot_logits(session, slot), 4, info.vocabulary, stdout);
    if (i == decode)
      break;
    for (uint32_t s = 0; s <= slot; ++s)
      step[s] = s == slot ? tokens[prompt + i] : SDC_NO_TOKEN;
    if (sdc_decode(session, step, &error))
      return failed(&error);
  }
  sdc_session_destroy(session);
  sdc_model_close(model);
  return 0;
}
