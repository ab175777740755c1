#!/bin/sh
# Takes out of an installation what a server never reads: symbols of extension modules, other packages' tests, C sources,
# OpenVINO's plugins for devices that the image is not for, and what CUDA's packages have for compilers and profilers.
# usage: slim.sh SITE_PACKAGES
set -eu
cd "$1"

# Libraries that a wheel brings along (*.libs) are left alone: they were relinked, which strip does not always survive.
for package in blis cymem murmurhash preshed spacy srsly thinc uvloop; do
  find "$package" -name '*.so' -exec strip --strip-unneeded {} +
done

# numpy and onnxruntime import nothing of theirs; misaki and phonemizer have none.
for package in blis joblib numpy onnxruntime preshed spacy srsly thinc; do
  find "$package" -type d -name tests -prune -exec rm -rf {} +
done
for package in blis cymem murmurhash preshed spacy srsly thinc uvloop numpy; do
  find "$package" -type f \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.h' -o -name '*.hpp' -o -name '*.c' \
    -o -name '*.cpp' -o -name '*.cc' -o -name '*.a' \) -delete
done

# The engine compiles for the CPU. cache.json is the GPU plugin's.
if [ -d openvino/libs ]; then
  rm -f openvino/libs/libopenvino_intel_gpu_plugin.so openvino/libs/libopenvino_intel_npu_plugin.so openvino/libs/cache.json
fi

# What torch links to and what that loads stays. cusolverMg is for one matrix on several devices, nvperf and its like for
# profilers, cufftw and nvblas for programs that were written for FFTW and BLAS.
if [ -d torch ]; then
  rm -rf torch/include torch/share torch/bin/protoc* nvidia/*/include nvidia/cu13/cccl
  find torch nvidia -type f \( -name '*.a' -o -name '*.bc' \) -delete
  for library in cusolverMg nvperf_host nvperf_target pcsamplingutil checkpoint cufftw nvblas; do
    rm -f nvidia/cu13/lib/lib$library.so*
  done
fi
