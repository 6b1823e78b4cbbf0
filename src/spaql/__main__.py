"""`python -m spaql`: the same as `spaql`."""

from spaql_command import main

if __name__ == "__main__":
    main()
