"""Which calls a model on this machine makes, through toolkeel and through other libraries' clients."""
