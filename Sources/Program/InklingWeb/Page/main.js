// The entry of the page.
