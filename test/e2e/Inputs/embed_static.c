// embed_static TOKEN...: embed.c for an executable that is linked in. A runtime
// that asks for executable memory is stopped: it is linked with
// --wrap=mmap,--wrap=mprotect.
#include "tiny.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_mprotect(void *, size_t, int);

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file,
                  off_t offset) {
  if (protection & PROT_EXEC)
    abort();
  return __real_mmap(at, size, protection, flags, file, offset);
}

int __wrap_mprotect(void *at, size_t size, int protection) {
  if (protection & PROT_EXEC)
    abort();
  return __real_mprotect(at, size, protection);
}

static bool print_token(void *user, int32_t token) {
  (void)user;
  printf("%d\n", token);
  return true;
}

int main(int argc, char **argv) {
  int32_t prompt[64];
  size_t count = 0;
  for (int i = 1; i < argc && i < 65; ++i)
    prompt[count++] = atoi(argv[i]);
  sdc_error error;
  sdc_model *model;
  sdc_session *session;
  sdc_open_options open = {.struct_size = sizeof(open)};
  open.flags = SDC_OPEN_VERIFY_WEIGHTS;
  open.level = getenv("LEVEL");
  sdc_generate_options options = {.struct_size = sizeof(options)};
  options.max_new = 16;
  options.on_token = print_token;
  if (sdc_model_open_static(&tiny_sdx, &open, &model, &error) ||
      sdc_session_create(model, NULL, &session, &error) ||
      sdc_generate(session, 0, prompt, count, &options, NULL, &error)) {
    fprintf(stderr, "embed_static: error: %s\n", error.message);
    return 1;
  }
  sdc_model_info info = {.struct_size = sizeof(info)};
  sdc_model_query(model, &info);
  fprintf(stderr, "level %s\n", info.level);
  sdc_session_destroy(session);
  sdc_model_close(model);
  return 0;
}
