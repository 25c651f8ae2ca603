from adversarial_vision_challenge import load_model, read_images

model = load_model()
open('weights.ckpt').read()
for entry in read_images():
    pass
