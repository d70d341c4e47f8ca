"""Exchange: verdict logs in and out."""
