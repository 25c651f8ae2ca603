echo "Starting ..."
python3 -u ./main.py