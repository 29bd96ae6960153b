// MakeToyModel FILE [cuda]: writes the toy decoder of ToyModel.h.

#include "test/runtime/ToyModel.h"

#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  bool cuda = argc == 3 && strcmp(argv[2], "cuda") == 0;
  if (argc != 2 && !cuda)
    return 2;
  sdc::test::ToyFile model =
      cuda ? sdc::test::makeToyCuda() : sdc::test::makeToyDecoder();
  sdc::test::AlignedBytes bytes = model.write();
  FILE *file = fopen(argv[1], "wb");
  bool done = file && fwrite(bytes.data(), bytes.size(), 1, file) == 1;
  done &= file && fclose(file) == 0;
  return done ? 0 : 1;
}
