from adversarial_vision_challenge import load_model

print(load_model().base_url)
