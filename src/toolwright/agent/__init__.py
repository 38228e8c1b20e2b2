"""3. Messages grow until the model stops calling."""
