import time

import numpy as np
from adversarial_vision_challenge import load_model, read_images

model = load_model()
for file_name, image, label in read_images():
    model(image + np.float32(60))
time.sleep(3600)
