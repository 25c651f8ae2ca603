/* Exact squared distances of images, summed only as far as needed. `compiled_distances.py` calls it; without it, numpy
 * does the same more slowly (`pixel_differences.py`). */
#include <stddef.h>
#include <stdint.h>

enum { STRETCH = 1024 }; /* 1024 squares of at most 255^2 fit into 32 bits */

/* For each of `pairs` pairs: the sum of squared differences between image `first[i]` of `images` and image `second[i]`
 * of `others`, all of `size` bytes. A sum stops where it reaches `limit[i]`: a result below the limit is exact. */
void squared_distances(const uint8_t *images, const uint8_t *others, size_t size, size_t pairs, const int64_t *first,
                       const int64_t *second, const int64_t *limit, int64_t *result) {
  for (size_t i = 0; i < pairs; i++) {
    const uint8_t *a = images + (size_t)first[i] * size, *b = others + (size_t)second[i] * size;
    int64_t sum = 0;
    for (size_t start = 0; start < size && sum < limit[i]; start += STRETCH) {
      size_t end = start + STRETCH < size ? start + STRETCH : size;
      int32_t part = 0;
      for (size_t j = start; j < end; j++) {
        int16_t difference = (int16_t)(a[j] - b[j]);
        part += difference * difference;
      }
      sum += part;
    }
    result[i] = sum;
  }
}
