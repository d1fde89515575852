"""What is measured, reproduced and ranked with Legato, apart from the product: no part of the product imports it."""
