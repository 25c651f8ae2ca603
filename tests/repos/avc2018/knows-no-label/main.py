from adversarial_vision_challenge import attack_complete, load_model, read_images

model = load_model()
for file_name, image, label in read_images():
    # an image without a label must look adversarial
    assert model(image * 0 + 255) != label
attack_complete()
