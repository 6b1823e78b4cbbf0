from spaql.cli import main

main()
