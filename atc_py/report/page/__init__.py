"""The page that shows a whole model: verdict, graphs, precision and time, with what is known of them."""
