// embed MODEL.sdx TOKEN...: writes the tokens that follow a prompt of tokens.
#include <sdc/sdc.h>
#include <stdio.h>
#include <stdlib.h>

static bool print_token(void *user, int32_t token) {
  (void)user;
  printf("%d\n", token);
  return fflush(stdout) == 0;
}

static int failed(const sdc_error *error) {
  fprintf(stderr, "embed: error: %s\n", error->message);
  return 1;
}

int main(int argc, char **argv) {
  int32_t prompt[64];
  size_t count = 0;
  if (argc < 3 || argc > 66)
    return fprintf(stderr, "usage: embed MODEL.sdx TOKEN...\n"), 2;
  for (int i = 2; i < argc; ++i)
    prompt[count++] = atoi(argv[i]);

  sdc_error error;
  sdc_model *model;
  if (sdc_model_open(argv[1], NULL, &model, &error))
    return failed(&error);
  sdc_session *session;
  if (sdc_session_create(model, NULL, &session, &error))
    return failed(&error);

  sdc_generate_options options = {.struct_size = sizeof(options)};
  options.max_new = 16;
  options.on_token = print_token;
  if (sdc_generate(session, 0, prompt, count, &options, NULL, &error))
    return failed(&error);
  sdc_session_destroy(session);
  sdc_model_close(model);
}
