WORD = "beside the SDK"
