/* Exact squared distances of images, summed only as far as needed. `compiled_distances.py` calls it; without it, numpy
 * does the same more slowly (`numpy_distances.py`). Images are of `size` bytes, one after the other. */
#include <stddef.h>
#include <stdint.h>

enum { STRETCH = 1024 }; /* 1024 squares of at most 255^2 fit into 32 bits */

/* The sum of squared differences; it stops where it reaches `limit`: a result below the limit is exact. */
static double distance(const uint8_t *a, const uint8_t *b, size_t size, double limit) {
  int64_t sum = 0;
  for (size_t start = 0; start < size && (double)sum < limit; start += STRETCH) {
    size_t end = start + STRETCH < size ? start + STRETCH : size;
    int32_t part = 0;
    for (size_t j = start; j < end; j++) {
      int16_t difference = (int16_t)(a[j] - b[j]);
      part += difference * difference;
    }
    sum += part;
  }
  return (double)sum;
}

/* For each of `count` images: its distance to the image `column[i]` of `clean`. */
void squared_distances(const uint8_t *images, const uint8_t *clean, size_t size, size_t count, const int64_t *column,
                       double *result) {
  for (size_t i = 0; i < count; i++)
    result[i] = distance(images + i * size, clean + (size_t)column[i] * size, size, (double)INT64_MAX);
}

/* For each of `count` images and each of the `samples` images of `clean`: a lower bound of their distance, exact where
 * it is below its place in `limit`. */
void distance_bounds(const uint8_t *images, const uint8_t *clean, size_t size, size_t count, size_t samples,
                     const double *limit, double *result) {
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < samples; j++, limit++, result++)
      *result = distance(images + i * size, clean + j * size, size, *limit);
}
