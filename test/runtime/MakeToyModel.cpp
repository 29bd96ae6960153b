// MakeToyModel FILE: writes the toy decoder of ToyModel.h.

#include "test/runtime/ToyModel.h"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  sdc::test::AlignedBytes bytes = sdc::test::makeToyDecoder().write();
  FILE *file = fopen(argv[1], "wb");
  bool done = file && fwrite(bytes.data(), bytes.size(), 1, file) == 1;
  done &= file && fclose(file) == 0;
  return done ? 0 : 1;
}
